/** Owns the tests of a log's folder: one process at a time, and foreign, newer and damaged files stay untouched. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { offset, partition } from '@tidemark/core';
import { readAll, record, texts } from '@tidemark/testkit/contracts/event-log-under-test';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSqliteLog } from './index.ts';
import { asLogError } from './sqlite-errors.ts';

const P0 = partition(0);
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-log-'));
  file = path.join(folder, 'log.db');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Every file with its bytes, except those that only name the lock's holder. */
async function contents(): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('lock')).sort();
  const entries = names.map(async (name) => [name, await readFile(path.join(folder, name), 'hex')] as const);
  return Object.fromEntries(await Promise.all(entries));
}

async function filled(count = 10): Promise<void> {
  const log = await openSqliteLog({ folder, partitions: 4 });
  for (let index = 0; index < count; index++) await log.append(P0, [record(`record ${index} ${'x'.repeat(1_000)}`)]);
  await log.close();
}

/** Another process that opens the log, appends one record after another, and prints how many are acknowledged. */
function startWriter(): { readonly child: ChildProcess; acknowledged(): Promise<number> } {
  const program = fileURLToPath(new URL('../fixtures/writer.ts', import.meta.url));
  const child = spawn(process.execPath, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout!.on('data', (chunk) => {
    output += chunk;
  });
  return {
    child,
    async acknowledged() {
      while (!output.includes('\n')) await once(child.stdout!, 'data');
      return Number(output.trimEnd().split('\n').at(-1));
    },
  };
}

describe('one process at a time', () => {
  test('a second one is told by whom it is in use, and changes nothing', async () => {
    const { child, acknowledged } = startWriter();
    try {
      await acknowledged();
      child.kill('SIGSTOP');
      const before = await contents();
      await expect(openSqliteLog({ folder })).rejects.toMatchObject({
        name: 'ConfigError',
        code: 'log-locked',
        message: expect.stringContaining(`process ${child.pid}`),
        details: { folder, pid: child.pid },
      });
      expect(await contents()).toEqual(before);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
  });

  test('the lock goes with a process that is killed; what it was told is stored is there', async () => {
    const { child, acknowledged } = startWriter();
    await acknowledged();
    child.kill('SIGKILL');
    await once(child, 'close');
    const count = await acknowledged();
    const log = await openSqliteLog({ folder });
    const stored = texts(await readAll(log, P0));
    expect(stored.length).toBeGreaterThanOrEqual(count);
    expect(stored).toEqual(stored.map((_, index) => `record ${index}`));
    await log.close();
  });

  test('who has it is written through no link', async () => {
    const elsewhere = await mkdtemp(path.join(tmpdir(), 'tidemark-elsewhere-'));
    try {
      await writeFile(path.join(elsewhere, 'mine'), 'mine');
      await symlink(path.join(elsewhere, 'mine'), path.join(folder, 'lock.pid'));
      const log = await openSqliteLog({ folder });
      expect(await readFile(path.join(folder, 'lock.pid'), 'utf8')).toBe(`${process.pid}\n`);
      await log.close();
      expect(await readFile(path.join(elsewhere, 'mine'), 'utf8')).toBe('mine');
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  test('the same process may not open it twice, and may again after closing', async () => {
    const log = await openSqliteLog({ folder });
    await expect(openSqliteLog({ folder })).rejects.toMatchObject({
      code: 'log-locked',
      message: expect.stringContaining('this process'),
    });
    await log.close();
    await (await openSqliteLog({ folder })).close();
  });
});

describe('what is not ours to write', () => {
  const refused = async (code: string): Promise<void> => {
    const before = await contents();
    await expect(openSqliteLog({ folder })).rejects.toMatchObject({ code, details: { folder } });
    expect(await contents()).toEqual(before);
  };

  test('a newer version', async () => {
    await filled();
    const database = new DatabaseSync(file);
    database.exec('pragma user_version = 2');
    database.close();
    await refused('log-newer');
  });

  test('a newer version that was killed: it stands in the write-ahead log alone', async () => {
    await filled();
    const raise = `const { DatabaseSync } = require('node:sqlite'); const database = new DatabaseSync(process.argv[1]);
      database.exec('pragma wal_autocheckpoint = 0; pragma user_version = 7'); process.kill(process.pid, 'SIGKILL');`;
    await once(spawn(process.execPath, ['-e', raise, file]), 'close');
    expect((await readFile(file)).readUInt32BE(60)).toBe(1);
    await refused('log-newer');
  });

  test('the database of another program', async () => {
    const database = new DatabaseSync(file);
    database.exec('create table theirs (a); insert into theirs values (1)');
    database.close();
    await refused('log-foreign');
  });

  test('no database at all', async () => {
    await writeFile(file, 'Dear diary, '.repeat(100));
    await refused('log-damaged');
  });

  test('an empty file', async () => {
    await writeFile(file, '');
    await refused('log-damaged');
  });

  test('a file in place of the folder, and a folder that cannot be made', async () => {
    await writeFile(file, '');
    for (const wrong of [file, path.join(file, 'below')]) {
      await expect(openSqliteLog({ folder: wrong })).rejects.toMatchObject({
        name: 'ConfigError',
        code: 'log-folder-unusable',
      });
    }
  });

  test('a folder of another user', () => {
    const denied = Object.assign(new Error(`EACCES: permission denied, open '${folder}/lock.pid'`), { code: 'EACCES' });
    expect(asLogError(folder, denied)).toMatchObject({
      ...{ name: 'ConfigError', code: 'log-folder-unusable' },
      message: `This user may not write to the folder ${folder}. Ask the one whose folder it is, or name another folder.`,
    });
  });
});

describe('damage', () => {
  const damagedAfter = async (damage: () => Promise<void>): Promise<void> => {
    await filled(100);
    await damage();
    const before = await contents();
    await expect(openSqliteLog({ folder })).rejects.toMatchObject({
      name: 'CorruptError',
      code: 'log-damaged',
      details: { folder },
    });
    expect(await contents()).toEqual(before);
  };
  const overwrite = async (at: number, bytes: Uint8Array): Promise<void> => {
    const whole = await readFile(file);
    whole.set(bytes, at);
    await writeFile(file, whole);
  };

  test('cut short', () => damagedAfter(async () => truncate(file, (await stat(file)).size - 30_000)));
  test('a page overwritten', () => damagedAfter(() => overwrite(3 * 8_192, new Uint8Array(8_192).fill(0xaa))));
  test('the schema overwritten', () => damagedAfter(() => overwrite(100, new Uint8Array(60).fill(0x55))));

  test('beside a write-ahead log: nothing of it is moved', async () => {
    const { child, acknowledged } = startWriter();
    await acknowledged();
    child.kill('SIGKILL');
    await once(child, 'close');
    await overwrite(8_192, new Uint8Array(8_192).fill(0xaa));
    expect((await stat(`${file}-wal`)).size).toBeGreaterThan(0);
    const before = await contents();
    await expect(openSqliteLog({ folder })).rejects.toMatchObject({ code: 'log-damaged' });
    expect(await contents()).toEqual(before);
  });

  test('one changed byte of a value is found when it is read', async () => {
    await filled(100);
    const at = (await readFile(file)).indexOf('record 50 xxx');
    await overwrite(at, Buffer.from('R'));
    const log = await openSqliteLog({ folder });
    expect((await log.read([{ partition: P0, from: offset(51) }]))[0]!.records.length).toBe(49);
    await expect(log.read([{ partition: P0, from: offset(50) }])).rejects.toMatchObject({
      name: 'CorruptError',
      code: 'log-damaged',
    });
    await log.close();
  });
});

describe('making and growing', () => {
  test('a log that was not finished is rebuilt', async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(`${file}.new`, 'half');
    const log = await openSqliteLog({ folder, partitions: 3 });
    expect(await log.partitionCount()).toBe(3);
    await log.close();
  });

  test('wrong numbers of partitions', async () => {
    for (const partitions of [0, -1, 1.5, Number.NaN]) {
      await expect(openSqliteLog({ folder, partitions })).rejects.toMatchObject({ code: 'partitions-invalid' });
    }
  });

  test('durability tells what survives', async () => {
    const log = await openSqliteLog({ folder });
    expect(log.durability).toBe('power');
    await log.close();
    const normal = await openSqliteLog({ folder, synchronous: 'normal' });
    expect(normal.durability).toBe('process');
    await normal.close();
  });
});

describe('limits', () => {
  test('no room left: a clear error, what is stored stays, and it goes on when there is room', async () => {
    const limits = { fileMaxBytes: 400_000 };
    const log = await openSqliteLog({ folder, limits });
    const value = 'x'.repeat(50_000);
    let stored = 0;
    const failure = await (async () => {
      for (;;) {
        await log.append(P0, [record(value)]);
        stored++;
      }
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'UnavailableError', code: 'log-full' });
    expect(stored).toBeGreaterThan(2);
    expect((await log.bounds([P0])).get(P0)).toEqual({ start: 0, end: stored });
    await log.trim(P0, offset(stored - 1));
    expect(await log.append(P0, [record('there is room again')])).toBe(stored);
    await log.close();
    const again = await openSqliteLog({ folder });
    expect(texts(await readAll(again, P0, stored - 1))).toEqual([value, 'there is room again']);
    await again.close();
  });

  test('a group that does not fit fails whole, and its offsets are given again', async () => {
    const log = await openSqliteLog({ folder, limits: { fileMaxBytes: 200_000 } });
    const given = [100, 300_000, 100].map((size) => log.append(P0, [record('x'.repeat(size))]));
    const results = await Promise.allSettled(given);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await log.append(P0, [record('after')])).toBe(0);
    await log.close();
  });

  test('too much waits already', async () => {
    const log = await openSqliteLog({ folder, limits: { pendingMaxBytes: 1_000 } });
    const first = log.append(P0, [record('x'.repeat(600))]);
    await expect(log.append(P0, [record('y'.repeat(600))])).rejects.toMatchObject({
      name: 'LimitError',
      code: 'append-queue-full',
    });
    expect(await first).toBe(0);
    expect(await log.append(P0, [record('y'.repeat(600))])).toBe(1);
    await log.close();
  });

  test('a group is closed by bytes and by records; order is kept across transactions', async () => {
    const log = await openSqliteLog({ folder, limits: { transactionMaxRecords: 7, transactionMaxBytes: 5_000 } });
    const names = Array.from({ length: 100 }, (_, index) => `record ${index} ${'x'.repeat(index * 40)}`);
    const given = await Promise.all(names.map((name) => log.append(P0, [record(name)])));
    expect(given).toEqual(names.map((_, index) => index));
    expect(texts(await readAll(log, P0))).toEqual(names);
    await log.close();
  });

  test('a long trim goes in slices; what a dead process left of one is deleted', async () => {
    const limits = { trimSliceRecords: 3 };
    const log = await openSqliteLog({ folder, partitions: 1, limits });
    await log.append(
      P0,
      Array.from({ length: 20 }, (_, index) => record(String(index))),
    );
    const trimming = log.trim(P0, offset(15));
    await log.close();
    await trimming;
    const left = count();
    expect(left).toBeGreaterThan(5);
    const again = await openSqliteLog({ folder, limits });
    expect(texts(await readAll(again, P0, 15))).toEqual(['15', '16', '17', '18', '19']);
    await again.close();
    expect(count()).toBe(5);
  });

  function count(): number {
    const database = new DatabaseSync(file, { readOnly: true });
    const row = database.prepare('select count(*) as count from records').get();
    database.close();
    return Number(row?.count);
  }
});
