/** What only PGlite does: folders, their locks and damage, death and hanging of its thread, kill −9 in mid-write. */

import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { dump } from '@tidemark/testkit/contracts/projection-store';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { assemblePglite, openPgliteStore } from './pglite-store.ts';
import { once } from './sql-client.ts';

/** Creating a folder takes seconds, on a busy machine many. */
const parent = mkdtempSync(path.join(tmpdir(), 'tidemark-pglite-'));
const model = path.join(parent, 'model');
const children: ChildProcess[] = [];
const store = openPgliteStore({ folder: model });
let copies = 0;

beforeAll(async () => {
  await store.ensure();
  const empty = { start: rows.at(0), rebuildTo: rows.at(0) };
  await store.addPartitions([0, 1].map((index) => ({ ...empty, partition: rows.partitionAt(index) })));
  await store.apply(rows.openingBatch('w', 0));
  await store.close();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

/** A folder with one workflow in it. */
function copy(): string {
  copies += 1;
  const folder = path.join(parent, `copy-${copies}`);
  cpSync(model, folder, { recursive: true });
  return folder;
}

/** Everything in the folder, as one text. */
const content = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
    .map((file) => `${file} ${readFileSync(file).toString('base64')}`)
    .join('\n');

/** A library of functions for Postgres in WebAssembly that brings a text for the loader to evaluate, and nothing else. */
function libraryThatRuns(code: string): Uint8Array {
  const number = (n: number): number[] => (n < 128 ? [n] : [(n & 127) | 128, ...number(n >>> 7)]);
  const bytes = (text: string): number[] => [...number(Buffer.byteLength(text)), ...Buffer.from(text)];
  const section = (id: number, body: readonly number[]): number[] => [id, ...number(body.length), ...body];
  const text = [...Buffer.from(`(void)<::>0,${code}\0`)];
  const memory = [...number(text.length), 0, 0, 0];
  const parts = [
    section(0, [...bytes('dylink.0'), 1, ...number(memory.length), ...memory]),
    section(2, [
      2,
      ...bytes('env'),
      ...bytes('memory'),
      2,
      0,
      1,
      ...bytes('env'),
      ...bytes('__memory_base'),
      3,
      0x7f,
      0,
    ]),
    section(6, [1, 0x7f, 0, 0x41, 0, 0x0b]),
    section(7, [1, ...bytes('__em_js__evil'), 3, 1]),
    section(11, [1, 0, 0x23, 0, 0x0b, ...number(text.length), ...text]),
  ];
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...parts.flat()]);
}

/** Another process that has the folder open and writes to it without end; resolves once it has written. */
async function writer(folder: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'fixtures', 'endless-writer.ts'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', () => reject(new Error('the writer ended')));
  });
  return child;
}

describe('PGlite folder', () => {
  test('rows are there again when it is opened again', async () => {
    const again = openPgliteStore({ folder: copy() });
    expect(await again.ready()).toBe(true);
    expect((await dump(again)).workflows).toHaveLength(1);
    await again.close();
    await again.close();
  });

  test('is locked while another process or another store of this one has it, whatever became of that one', async () => {
    const folder = copy();
    const child = await writer(folder);
    const locked = { name: 'ConfigError', code: 'store-locked' };
    expect(() => openPgliteStore({ folder })).toThrow(expect.objectContaining(locked));
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
    const mine = openPgliteStore({ folder });
    expect(() => openPgliteStore({ folder })).toThrow(expect.objectContaining(locked));
    await mine.close();
    await openPgliteStore({ folder }).close();
  });

  test('killed in mid-write it opens again, with rows and offset of one moment (P1)', async () => {
    const folder = copy();
    for (let round = 0; round < 2; round += 1) {
      const child = await writer(folder);
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
      const after = openPgliteStore({ folder });
      const next = (await after.positions()).get(rows.partitionAt(0));
      expect(await after.rejected(1_000_000)).toHaveLength((next ?? 0) - 1);
      // Unlike rows, a placement that was answered is never lost.
      expect(await after.place([rows.request('placed')])).toMatchObject([{ partition: 1, created: false }]);
      await after.close();
    }
  });

  test.each([
    ['format', { format: 99, postgres: 18, complete: true }, 'store-newer'],
    ['Postgres', { format: 1, postgres: 99, complete: true }, 'store-newer'],
    ['an older Postgres', { format: 1, postgres: 16, complete: true }, 'store-older'],
  ])('made by another version (%s) it is left untouched', (_, format, code) => {
    const folder = copy();
    writeFileSync(path.join(folder, 'format.json'), JSON.stringify(format));
    const before = content(folder);
    expect(() => openPgliteStore({ folder })).toThrow(expect.objectContaining({ name: 'ConfigError', code }));
    expect(content(folder)).toBe(before);
  });

  test('with migrations of a newer version it is refused', async () => {
    const folder = copy();
    const { store: newer, client } = assemblePglite({ folder });
    await client.run([once(`insert into tidemark_migrations (name) values ('9999-future')`)]);
    await expect(newer.ensure()).rejects.toMatchObject({ name: 'ConfigError', code: 'store-newer' });
    await newer.close();
  });

  test.each([
    ['global/pg_control is cut', (data: string) => truncateSync(path.join(data, 'global', 'pg_control'), 10)],
    ['PG_VERSION is gone', (data: string) => rmSync(path.join(data, 'PG_VERSION'))],
    ['base is gone', (data: string) => rmSync(path.join(data, 'base'), { recursive: true })],
    ['format.json is cut', (data: string) => truncateSync(path.join(data, '..', 'format.json'), 5)],
    ['format.json is gone', (data: string) => rmSync(path.join(data, '..', 'format.json'))],
  ])('damaged (%s) it is reported, and not rebuilt', async (_, damage) => {
    const folder = copy();
    damage(path.join(folder, 'data'));
    const expected = { name: 'CorruptError', code: 'store-damaged', message: expect.stringContaining('delete it') };
    const open = async (): Promise<void> => {
      const damaged = openPgliteStore({ folder });
      try {
        await damaged.ensure();
      } finally {
        await damaged.close();
      }
    };
    await expect(open()).rejects.toMatchObject(expected);
    await expect(open()).rejects.toMatchObject(expected);
  });

  test('a creation that was interrupted begins again', async () => {
    const folder = copy();
    writeFileSync(path.join(folder, 'format.json'), JSON.stringify({ format: 1, postgres: 18, complete: false }));
    rmSync(path.join(folder, 'data', 'global'), { recursive: true });
    const begun = openPgliteStore({ folder });
    await begun.ensure();
    expect((await begun.positions()).size).toBe(0);
    await begun.close();
  });

  test('a broken template of an empty database is made again; each database is a making of its own', async () => {
    const before = process.env.XDG_CACHE_HOME;
    process.env.XDG_CACHE_HOME = path.join(parent, 'cache');
    const cache = path.join(parent, 'cache', 'tidemark');
    try {
      mkdirSync(cache, { recursive: true });
      const incarnations = new Set<string>();
      for (const name of ['first', 'second', 'third', 'fourth']) {
        const made = openPgliteStore({ folder: path.join(parent, name) });
        await made.ensure();
        incarnations.add(await made.storeId());
        await made.close();
        const [template] = readdirSync(cache);
        expect(template).toMatch(/^pglite-.*\.tar\.zst$/);
        if (name === 'first') writeFileSync(path.join(cache, template!), zstdCompressSync('no database'));
        else expect(readFileSync(path.join(cache, template!)).length).toBeGreaterThan(100_000);
      }
      expect(incarnations.size).toBe(4);
    } finally {
      if (before === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = before;
    }
  });

  test('what a migration had applied before it failed is told', async () => {
    const { store: mine, client } = assemblePglite({ memory: true });
    const applied: string[] = [];
    const more = { name: '9001-more', sql: 'alter table owners add column more text', phase: 'expand' } as const;
    const migrations = [...MIGRATIONS, more, { ...more, name: '9002-again' }];
    const onApplied = (name: string) => applied.push(name);
    await expect(migrate(client, 'memory', { migrations, onApplied })).rejects.toThrow(/already exists/);
    expect(applied.at(-1)).toBe('9001-more');
    await mine.close();
  });

  test('a database that has rows already becomes no template', async () => {
    const cache = path.join(parent, 'cache-2');
    const before = process.env.XDG_CACHE_HOME;
    process.env.XDG_CACHE_HOME = cache;
    try {
      const { store: mine, client } = assemblePglite({ memory: true });
      await migrate(client, 'memory');
      await client.script(`insert into owners (owner, expires_at, knows) values ('somebody', now(), '')`);
      await mine.ensure();
      await mine.close();
      expect(existsSync(cache)).toBe(false);
    } finally {
      if (before === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = before;
    }
  });

  test('a file where the folder should be is a wrong setting', () => {
    const file = path.join(parent, 'file');
    writeFileSync(file, 'x');
    expect(() => openPgliteStore({ folder: file })).toThrow(expect.objectContaining({ code: 'store-folder' }));
    expect(readFileSync(file, 'utf8')).toBe('x');
  });
});

describe('PGlite thread', () => {
  const unavailable = { name: 'UnavailableError', code: 'store-unavailable' };

  test('its death is reported to what is under way; the next operation starts it again', async () => {
    const { store: mine, client, thread } = assemblePglite({ folder: copy() });
    await mine.ensure();
    const sleeping = expect(client.run([once('select pg_sleep(60)')])).rejects.toThrow('has ended');
    // By then it has been sent.
    await new Promise((resolve) => setImmediate(resolve));
    thread.kill();
    await sleeping;
    expect((await dump(mine)).workflows).toHaveLength(1);
    await mine.close();
    await expect(mine.ready()).rejects.toMatchObject(unavailable);
  });

  test('when it hangs it is ended, and started again', async () => {
    const { store: mine, client } = assemblePglite({ folder: copy() }, { answerTimeoutMs: 1000 });
    await expect(client.run([once('select pg_sleep(60)')])).rejects.toThrow('timeout');
    expect(await mine.ready()).toBe(true);
    await mine.close();
  });

  test('a library that lies in the folder runs no code of this process', async () => {
    const folder = copy();
    const ran = path.join(parent, 'ran');
    const code = `process.getBuiltinModule('node:fs').writeFileSync(${JSON.stringify(ran)}, '')`;
    writeFileSync(path.join(folder, 'data', 'evil.so'), libraryThatRuns(code));
    const { store: mine, client } = assemblePglite({ folder });
    await mine.ensure();
    const failed: unknown = await client.run([once(`load '/pglite/data/evil.so'`)]).catch((error: unknown) => error);
    expect([existsSync(ran), String(failed)]).toEqual([false, expect.stringContaining('evil.so')]);
    await mine.close();
  });

  test('in memory, its death loses all rows: what is created then is another making of the tables', async () => {
    const { store: mine, thread } = assemblePglite({ memory: true });
    await mine.ensure();
    const before = await mine.storeId();
    await mine.addPartitions([{ partition: rows.partitionAt(0), start: rows.at(0), rebuildTo: rows.at(0) }], before);
    expect((await mine.positions()).size).toBe(1);
    thread.kill();
    await mine.ensure();
    expect(await mine.storeId()).not.toBe(before);
    expect([await mine.ready(), (await mine.positions()).size]).toEqual([false, 0]);
    await mine.close();
  });
});
