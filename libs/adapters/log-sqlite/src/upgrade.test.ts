/** Owns the tests of upgrading a file of format 1: in place, in one step, when it is opened. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import { offset, partition } from '@tidemark/core';
import { readAll, record, texts } from '@tidemark/testkit/contracts/event-log-under-test';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSqliteLog } from './index.ts';
import { APPLICATION_ID } from './inspect-file.ts';

const P0 = partition(0);
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-upgrade-'));
  file = path.join(folder, 'log.db');
  makeFormat1();
});
afterEach(() => rm(folder, { recursive: true }));

const COUNT = 300;
const textAt = (at: number): string => `record ${at} ${'x'.repeat(200)}`;

/** A log as the previous version wrote it. */
function makeFormat1(): void {
  const database = new DatabaseSync(file);
  database.exec(`pragma page_size = 8192; pragma application_id = ${APPLICATION_ID}; pragma user_version = 1;
    create table partitions (partition integer primary key, start integer not null default 0) strict;
    create table records (arrival integer primary key, partition integer not null, "offset" integer not null,
      crc integer not null, type text not null, trace text, value blob not null) strict;
    create unique index records_by_offset on records (partition, "offset");
    insert into partitions (partition) values (0), (1); pragma journal_mode = wal`);
  const insert = database.prepare('insert into records values (null, 0, ?, ?, ?, null, ?)');
  for (let at = 0; at < COUNT; at++) {
    const value = Buffer.from(textAt(at));
    insert.run(at, crc32(value), 'Tested', value);
  }
  database.close();
}

const formatInFile = async (): Promise<number> => (await readFile(file)).readUInt32BE(60);

async function isWhole(): Promise<void> {
  const log = await openSqliteLog({ folder });
  const old = Array.from({ length: COUNT }, (_, at) => textAt(at));
  expect(texts(await readAll(log, P0))).toEqual(old);
  const packable = Array.from({ length: 20 }, (_, at) => textAt(COUNT + at));
  for (const text of packable) await log.append(P0, [{ ...record(text), packsWell: true }]);
  await log.trim(P0, offset(100));
  await log.close();
  const again = await openSqliteLog({ folder });
  expect(texts(await readAll(again, P0, 100))).toEqual([...old, ...packable].slice(100));
  await again.close();
  expect(await formatInFile()).toBe(2);
}

test('what it holds is read as before, and new records are packed', async () => {
  expect(await formatInFile()).toBe(1);
  await isWhole();
});

for (const when of ['before', 'after']) {
  test(`a process that dies right ${when} the upgrade's commit leaves a file that opens`, async () => {
    const program = fileURLToPath(new URL('../fixtures/upgrader.ts', import.meta.url));
    const child = spawn(process.execPath, [program, file, when], { stdio: 'inherit' });
    const [, signal] = await once(child, 'close');
    expect(signal).toBe('SIGKILL');
    expect(await formatInFile()).toBe(1);
    await isWhole();
  });
}

test('a damaged file is not upgraded', async () => {
  const whole = await readFile(file);
  const database = new DatabaseSync(file);
  database.exec('pragma journal_mode = delete; drop index records_by_offset');
  database.close();
  const before = await readFile(file);
  expect(before.equals(whole)).toBe(false);
  await expect(openSqliteLog({ folder })).rejects.toMatchObject({ code: 'log-damaged' });
  expect((await readFile(file)).equals(before)).toBe(true);
});
