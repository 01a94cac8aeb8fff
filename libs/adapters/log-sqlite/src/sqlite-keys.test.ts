/** The contract of KeyStore on SQLite, and what only this adapter promises: destroyed bytes are in no file, and foreign files stay. */

import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { KeyStore, StoredKey } from '@tidemark/ports';
import { keyStoreContract, listed, storedKey } from '@tidemark/testkit/contracts/key-store';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSqliteKeys } from './index.ts';
import { listKeysOfWorkflow } from './sql/keys.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-keys-'));
  file = path.join(folder, 'keys.sqlite');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

keyStoreContract('sqlite', async () => {
  const store = await openSqliteKeys({ folder });
  return { store, again: () => openSqliteKeys({ folder }), close: () => store.close() };
});

const keysOf = (count: number): StoredKey[] => Array.from({ length: count }, () => storedKey());
const idsOf = (keys: readonly StoredKey[]): string[] => keys.map(({ id }) => id);

/** The keys whose wrapped bytes are in any file of the folder. */
async function inFiles(keys: readonly StoredKey[]): Promise<StoredKey[]> {
  const names = await readdir(folder);
  const contents = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'latin1')));
  return keys.filter(({ wrapped }) => contents.some((content) => content.includes(wrapped.slice(8, 48))));
}

/** The same characters for the same name in every run. */
function textOf(name: string, length: number): string {
  let text = '';
  while (text.length < length) text += hash('sha512', `${name} ${text.length}`, 'base64');
  return text.slice(0, length);
}

const LENGTHS = [60, 120, 400, 800];

/** Keys in random order, rewrapped with other lengths, so that pages were split, filled and rearranged. */
async function rearranged(store: KeyStore, count: number): Promise<{ old: StoredKey[]; keys: StoredKey[] }> {
  const old = Array.from({ length: count }, (_, index) =>
    storedKey({ id: hash('md5', `${index}`), wrapped: textOf(`first ${index}`, LENGTHS[index % 4]!) }),
  );
  for (let at = 0; at < count; at += 250) await store.put(old.slice(at, at + 250));
  const keys = old.map((key, index) =>
    index % 2 === 1 ? key : { ...key, wrapped: textOf(`second ${index}`, LENGTHS[(index + 1) % 4]! + 40) },
  );
  await store.put(keys);
  return { old, keys };
}

describe('destroyed bytes', () => {
  test('are in no file, neither of the last wrapping nor of those before', async () => {
    const store = await openSqliteKeys({ folder });
    const { old, keys } = await rearranged(store, 2_000);
    // The control: the search finds them while they are there.
    expect(await inFiles(keys)).toHaveLength(2_000);
    const gone = keys.filter((_, index) => (index * 7_919) % 10 < 3);
    const goneIds = new Set(idsOf(gone));
    await store.destroy(idsOf(gone));
    expect(await inFiles([...gone, ...old.filter(({ id }) => goneIds.has(id))])).toEqual([]);
    const left = keys.filter(({ id }) => !goneIds.has(id));
    expect(await inFiles(left)).toEqual(left);
    expect(await listed(store)).toEqual(left.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    const [one] = left;
    await store.destroy([one!.id]);
    expect(await inFiles([one!])).toEqual([]);
    await store.close();
    expect(await inFiles(gone)).toEqual([]);
  });

  test.each(['off', 'on'])(
    'would stay in part without the care that is taken: the control, secure_delete %s',
    async (set) => {
      const store = await openSqliteKeys({ folder });
      const { old, keys } = await rearranged(store, 2_000);
      const gone = keys.filter((_, index) => (index * 7_919) % 10 < 3);
      removeCarelessly(gone, `pragma secure_delete = ${set}`);
      const goneIds = new Set(idsOf(gone));
      expect(await inFiles([...gone, ...old.filter(({ id }) => goneIds.has(id))])).not.toEqual([]);
      await store.close();
    },
  );

  test('of a process that died before it had cleaned up are gone when the keys are opened again', async () => {
    const store = await openSqliteKeys({ folder });
    const { keys } = await rearranged(store, 300);
    await store.close();
    removeCarelessly(keys, 'pragma secure_delete = off; insert into scrubs (id) values (1)');
    expect((await inFiles(keys)).length).toBeGreaterThan(100);
    await (await openSqliteKeys({ folder })).close();
    expect(await inFiles(keys)).toEqual([]);
  });

  test('that a reader holds on to: it is said, and destroying again removes them', async () => {
    const store = await openSqliteKeys({ folder, busyTimeoutMs: 20 });
    const { keys } = await rearranged(store, 20);
    const reader = new DatabaseSync(file);
    reader.exec('begin');
    reader.prepare('select count(*) from data_keys').get();
    await expect(store.destroy(idsOf(keys))).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'keys-unavailable',
      message: expect.stringContaining('destroy them again'),
    });
    // No read returns them all the same.
    expect(await listed(store)).toEqual([]);
    reader.exec('commit');
    reader.close();
    await store.destroy(idsOf(keys));
    expect(await inFiles(keys)).toEqual([]);
    await store.close();
  });

  function removeCarelessly(keys: readonly StoredKey[], before: string): void {
    const database = new DatabaseSync(file);
    database.exec(`${before}; begin`);
    const remove = database.prepare('delete from data_keys where id = ?');
    for (const { id } of keys) remove.run(id);
    database.exec('commit; pragma wal_checkpoint(truncate)');
    database.close();
  }
});

describe('the file', () => {
  test('of a workflow’s keys only those are read: its tenant and it are in an index', async () => {
    await (await openSqliteKeys({ folder })).close();
    const database = new DatabaseSync(file);
    const plan = database.prepare(`explain query plan ${listKeysOfWorkflow}`).all('', 't', '["w"]', null, 10);
    database.close();
    expect(JSON.stringify(plan)).toContain('USING INDEX data_keys_by_workflow (tenant=? AND workflow=? AND id>?)');
  });

  test('is readable by its owner alone', async () => {
    const store = await openSqliteKeys({ folder });
    await store.put([storedKey()]);
    for (const name of await readdir(folder)) {
      expect([name, (await stat(path.join(folder, name))).mode & 0o077]).toEqual([name, 0]);
    }
    await store.close();
  });

  test.each([
    ['text', async () => writeFile(file, 'not a database, but long enough to be looked at '.repeat(10))],
    ['a database of someone else', async () => foreign('create table notes (text)')],
    ['a database with another mark', async () => foreign('pragma application_id = 7; create table notes (text)')],
  ])('of %s is refused and stays as it is', async (_, make) => {
    await make();
    const before = await readFile(file, 'hex');
    await expect(openSqliteKeys({ folder })).rejects.toMatchObject({ name: 'ConfigError', code: 'keys-foreign' });
    expect(await readFile(file, 'hex')).toBe(before);
  });

  test('of a newer version is refused', async () => {
    await (await openSqliteKeys({ folder })).close();
    foreign('pragma user_version = 2');
    await expect(openSqliteKeys({ folder })).rejects.toMatchObject({ name: 'ConfigError', code: 'keys-newer' });
  });

  test('that is damaged is told as such', async () => {
    const store = await openSqliteKeys({ folder });
    await store.put(keysOf(2_000));
    await store.close();
    const bytes = await readFile(file);
    bytes.fill(0x5a, 8_192, 40_000);
    await writeFile(file, bytes);
    await expect(openSqliteKeys({ folder })).rejects.toMatchObject({ name: 'CorruptError', code: 'keys-damaged' });
  });

  test('in a place that is no folder is refused', async () => {
    await writeFile(path.join(folder, 'occupied'), '');
    await expect(openSqliteKeys({ folder: path.join(folder, 'occupied') })).rejects.toMatchObject({
      code: 'keys-folder-unusable',
    });
  });

  function foreign(statements: string): void {
    const database = new DatabaseSync(file);
    database.exec(statements);
    database.close();
  }
});

describe('processes', () => {
  // Between two puts it lets the others work: SQLite by itself doesn't favour the longest waiter.
  const program = `
    const { openSqliteKeys } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
    process.stdin.once('data', async () => {
      const store = await openSqliteKeys({ folder: process.argv.at(-1), busyTimeoutMs: 20_000 });
      for (;;) {
        const id = crypto.randomUUID();
        await store.put([{ id, tenant: 't', workflow: 'w', user: null, provider: 'local', wrappedBy: 'k', wrapped: id }]);
        console.log(id);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
    console.log('ready');`;

  test('that make the file at once and are killed: every key that was acknowledged is there', async () => {
    const children = Array.from({ length: 3 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', program, '--', folder], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    const said = children.map(linesOf);
    try {
      await eventually(() => said.every((lines) => lines().length === 1), { what: 'processes' });
      for (const child of children) child.stdin!.write('go\n');
      await eventually(() => said.every((lines) => lines().length > 20), { what: 'their keys' });
    } finally {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map((child) => once(child, 'close')));
    }
    const ids = said.flatMap((lines) => lines().slice(1));
    const store = await openSqliteKeys({ folder });
    expect((await store.get(ids)).size).toBe(ids.length);
    await store.close();
  });

  function linesOf(child: ChildProcess): () => string[] {
    let text = '';
    child.stdout!.on('data', (chunk) => {
      text += chunk;
    });
    return () => text.split('\n').slice(0, -1);
  }
});
