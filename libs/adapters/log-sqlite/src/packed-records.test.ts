/** Owns the tests of packed records: readers don't notice the packing, whatever is trimmed, rolled back or damaged. */

import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deflateRawSync } from 'node:zlib';
import { offset, partition } from '@tidemark/core';
import type { EventLog, LogRecord } from '@tidemark/ports';
import { readAll, record, texts } from '@tidemark/testkit/contracts/event-log-under-test';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSqliteLog } from './index.ts';
import { BASE_REACH_RECORDS } from './limits.ts';
import { BASE_MAX_RECORDS } from './packed-records.ts';

const P0 = partition(0);
let folder: string;
let file: string;
let log: EventLog;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-packed-'));
  file = path.join(folder, 'log.db');
  log = await openSqliteLog({ folder, partitions: 3 });
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});

const drawn = (seed: string): string => createHash('sha256').update(seed).digest('hex');
/** A record like that of a model call: names that all have, an id that its session has, and content of its own. */
const packable = (at: number, more = ''): LogRecord => ({
  ...record(
    `{"v":1,"id":"${drawn(`id ${at}`)}","tenant":"default","workflow":"${drawn('w')}","type":"EffectIntended"}\n{"question":"${drawn(`q ${at}`)}"${more}}`,
    'EffectIntended',
  ),
  packsWell: true,
});
const append = async (records: readonly LogRecord[]): Promise<void> => {
  for (const one of records) await log.append(P0, [one]);
};
const textsOf = (records: readonly LogRecord[]): string[] => records.map(({ value }) => Buffer.from(value).toString());
const packableFrom = (first: number, count: number): LogRecord[] =>
  Array.from({ length: count }, (_, index) => packable(first + index));

async function reopen(): Promise<void> {
  await log.close();
  log = await openSqliteLog({ folder });
}

interface Row {
  readonly offset: number;
  readonly type: string;
  readonly packing: number;
  readonly base: number | null;
  readonly bytes: number;
}

/** The rows in the file. The log is closed meanwhile. */
async function inFile<T>(poll: (database: DatabaseSync) => T): Promise<T> {
  await log.close();
  const database = new DatabaseSync(file);
  try {
    return poll(database);
  } finally {
    database.close();
    log = await openSqliteLog({ folder });
  }
}
const rows = (): Promise<readonly Row[]> =>
  inFile((database) => {
    const found = database.prepare(
      'select "offset", type, packing, base, length(value) as bytes from records where partition = 0 order by "offset"',
    );
    return found.all() as unknown as readonly Row[];
  });

describe('what lies in the file', () => {
  test('records that pack well are packed, the first without and the next with a base; others lie as they are', async () => {
    const records = [record('plain'), ...packableFrom(0, 20), record('plain too')];
    await append(records);
    expect(texts(await readAll(log, P0))).toEqual(textsOf(records));
    const stored = await rows();
    expect(stored.map(({ packing }) => packing)).toEqual([0, ...Array(20).fill(1), 0]);
    const bases = stored.map(({ base }) => base);
    expect(bases).toEqual([...Array(1 + BASE_MAX_RECORDS).fill(null), ...Array(20 - BASE_MAX_RECORDS).fill(1), null]);
    const rawBytes = packable(0).value.length;
    expect(stored[1]!.bytes).toBeLessThan(rawBytes * 0.7);
    expect(stored[20]!.bytes).toBeLessThan(stored[1]!.bytes * 0.8);
    expect([stored[0]!.type, stored[1]!.type]).toEqual(['Tested', 'EI']);
    expect(texts(await readAll(log, P0))).toEqual(textsOf(records));
  });

  test('limits count what is read, not what is stored', async () => {
    await append(packableFrom(0, 30));
    const one = packable(0).value.length;
    const [read] = await log.read([{ partition: P0, from: offset(0) }], { maxBytes: one * 4 });
    expect(read!.records.length).toBe(4);
    await log.close();
    log = await openSqliteLog({ folder, limits: { recordMaxBytes: 1_000 } });
    const long = { ...record('x'.repeat(1_001)), packsWell: true } as const;
    await expect(log.append(P0, [long])).rejects.toMatchObject({ code: 'record-too-large' });
    expect((await readAll(log, P0)).length).toBe(30);
  });

  test('whatever is appended, in any partition and order, is read again', async () => {
    const seen: string[][] = [[], [], []];
    let starts = [0, 0, 0];
    for (let round = 0; round < 60; round++) {
      const number = (what: string, limit: number): number =>
        Number.parseInt(drawn(`${round} ${what}`).slice(0, 8), 16) % limit;
      const at = number('partition', 3);
      const records = Array.from({ length: 1 + number('count', 40) }, (_, index) => {
        const kind = number(`kind ${index}`, 8);
        const size = [0, 0, 20, 300, 5_000, 20_000][number(`size ${index}`, 6)]!;
        const text = drawn(`${round}.${index}`).repeat(Math.ceil(size / 64));
        return kind < 2 ? record(`plain ${text}`) : packable(round * 100 + index, `,"text":"${text}"`);
      });
      await log.append(partition(at), records);
      seen[at]!.push(...textsOf(records));
      if (number('trim', 5) === 0) {
        const start = starts[at]! + number('to', seen[at]!.length - starts[at]! + 1);
        await log.trim(partition(at), offset(start));
        starts = starts.map((old, index) => (index === at ? start : old));
      }
      if (number('reopen', 6) === 0) await reopen();
      const from = starts[at]! + number('from', seen[at]!.length - starts[at]! + 1);
      expect(texts(await readAll(log, partition(at), from))).toEqual(seen[at]!.slice(from));
    }
    for (const [at, all] of seen.entries()) {
      expect(texts(await readAll(log, partition(at), starts[at]!))).toEqual(all.slice(starts[at]!));
    }
  });
});

describe('a base that is trimmed', () => {
  const before = BASE_MAX_RECORDS + 5;

  test('stays as long as it is needed, and no longer', async () => {
    const records = packableFrom(0, BASE_REACH_RECORDS + 20);
    await append(records);
    await log.trim(P0, offset(before));
    await reopen();
    expect(texts(await readAll(log, P0, before))).toEqual(textsOf(records).slice(before));
    const kept = (await rows()).filter((row) => row.offset < before).map((row) => row.offset);
    expect(kept).toEqual(Array.from({ length: BASE_MAX_RECORDS }, (_, index) => index));
    await log.trim(P0, offset(BASE_REACH_RECORDS + 10));
    expect((await rows())[0]!.offset).toBeGreaterThanOrEqual(BASE_REACH_RECORDS);
    const last = texts(await readAll(log, P0, BASE_REACH_RECORDS + 10));
    expect(last).toEqual(textsOf(records).slice(BASE_REACH_RECORDS + 10));
  });

  test('control: without it those after it are unreadable', async () => {
    await append(packableFrom(0, 20));
    await log.trim(P0, offset(before));
    await inFile((database) => database.exec('delete from records where "offset" < 3'));
    await expect(readAll(log, P0, before)).rejects.toMatchObject({ name: 'CorruptError', code: 'log-damaged' });
  });

  test('serves nothing that comes after the trim', async () => {
    await append(packableFrom(0, 20));
    await log.trim(P0, offset(20));
    const more = packableFrom(20, 20);
    await append(more);
    await reopen();
    expect(texts(await readAll(log, P0, 20))).toEqual(textsOf(more));
    expect((await rows())[0]!.offset).toBe(20);
  });
});

test('a base that was rolled back serves nothing', async () => {
  await log.close();
  log = await openSqliteLog({ folder, limits: { fileMaxBytes: 200_000 } });
  const tooMuch = { ...record(Array.from({ length: 8_000 }, (_, at) => drawn(String(at))).join('')), type: 'Tested' };
  await expect(log.append(P0, [...packableFrom(0, 12), tooMuch])).rejects.toMatchObject({ code: 'log-full' });
  const others = packableFrom(100, 20);
  await append(others);
  await reopen();
  expect(texts(await readAll(log, P0))).toEqual(textsOf(others));
});

describe('damage', () => {
  const damage = (at: number, bytes: (value: Buffer) => Uint8Array): Promise<void> =>
    inFile((database) => {
      const found = database.prepare('select value from records where partition = 0 and "offset" = ?').get(at);
      const value = bytes(Buffer.from(found!.value as Uint8Array));
      database.prepare('update records set value = ? where partition = 0 and "offset" = ?').run(value, at);
    });
  const flipped = (value: Buffer): Uint8Array => {
    value[value.length >> 1]! ^= 0x40;
    return value;
  };
  const damagedAt = (at: number) => ({
    name: 'CorruptError',
    code: 'log-damaged',
    message: expect.stringContaining(`offset ${at} of partition 0`),
  });

  test('of a packed record is found when it is read, and spoils no other', async () => {
    await append(packableFrom(0, 20));
    await damage(15, flipped);
    expect((await readAll(log, P0, 16)).length).toBe(4);
    await expect(readAll(log, P0, 15)).rejects.toMatchObject(damagedAt(15));
  });

  test('of a base is found by those that are packed with it', async () => {
    await append(packableFrom(0, 20));
    await damage(2, flipped);
    await expect(readAll(log, P0, 15)).rejects.toMatchObject(damagedAt(15));
    expect((await log.read([{ partition: P0, from: offset(3) }], { maxBytes: 1 }))[0]!.records.length).toBe(1);
  });

  test('bytes that would unpack without end', async () => {
    await append(packableFrom(0, 3));
    await damage(1, () => Buffer.concat([Buffer.alloc(2), deflateRawSync(Buffer.alloc(50_000_000))]));
    await expect(readAll(log, P0, 1)).rejects.toMatchObject(damagedAt(1));
  });

  test('a base that leads to itself, or to a packing of no version', async () => {
    await append(packableFrom(0, 20));
    await inFile((database) => {
      database.exec('update records set base = 12, base_records = 1 where "offset" = 12');
      database.exec('update records set packing = 9 where "offset" = 14');
    });
    await expect(readAll(log, P0, 12)).rejects.toMatchObject(damagedAt(12));
    await expect(readAll(log, P0, 14)).rejects.toMatchObject(damagedAt(14));
  });
});
