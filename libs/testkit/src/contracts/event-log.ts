/**
 * Owns the contract of EventLog as tests; every adapter runs it. `open` gives an empty log with at least 48 partitions for
 * the whole suite; each test takes partitions of its own. L1–L4 are those of the port.
 */

import { type Offset, offset, type Partition, partition } from '@tidemark/core';
import type { EventLog, LogRecord, StoredRecord } from '@tidemark/ports';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventLogModelContract } from './event-log-model.ts';

export interface OpenedEventLog {
  readonly log: EventLog;
  /** Closes the log and opens it again, as after a restart. */
  reopen(): Promise<EventLog>;
  /** Opens the same log as a second process would; undefined where only one may have it. */
  readonly another?: () => Promise<EventLog>;
  cleanup(): Promise<void>;
}

/** What the tests of one suite share. */
export interface LogUnderTest {
  log: EventLog;
  opened: OpenedEventLog;
  /** A partition that no other test uses. */
  fresh(): Partition;
}

export const record = (text: string, type = 'Tested'): LogRecord => ({ value: Buffer.from(text), type });
export const texts = (records: readonly StoredRecord[]): string[] =>
  records.map(({ value }) => Buffer.from(value).toString());
export const offsets = (records: readonly StoredRecord[]): number[] => records.map((stored) => stored.offset);

/** Everything a partition holds from an offset on, in as many reads as it takes. */
export async function readAll(log: EventLog, from: Partition, first: number = 0): Promise<readonly StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (;;) {
    const next = offset(first + records.length);
    const [result] = await log.read([{ partition: from, from: next }]);
    records.push(...result!.records);
    if (first + records.length >= result!.end) return records;
  }
}

export function eventLogContract(name: string, open: () => Promise<OpenedEventLog>): void {
  describe(`event log contract: ${name}`, () => {
    const under = { fresh: freshPartitions() } as LogUnderTest;
    beforeAll(async () => {
      under.opened = await open();
      under.log = under.opened.log;
    });
    afterAll(() => under.opened.cleanup());

    describe('appends', () => appendTests(under));
    describe('reads', () => readTests(under));
    describe('trimming and bounds', () => trimTests(under));
    describe('limits and wrong input', () => refusalTests(under));
    describe('against a naive log', () => eventLogModelContract(under));
    describe('growth', () => growthTests(under));
    describe('two processes', () => twoProcessTests(under));
    describe('closing and opening again', () => reopenTests(under));
  });
}

function freshPartitions(): () => Partition {
  let next = 0;
  return () => partition(next++);
}

function appendTests(under: LogUnderTest): void {
  test('L1: offsets begin at 0 and have no gaps', async () => {
    const target = under.fresh();
    const given: Offset[] = [];
    for (const text of ['a', 'b', 'c']) given.push(await under.log.append(target, [record(text)]));
    expect(given).toEqual([0, 1, 2]);
    const stored = await readAll(under.log, target);
    expect(offsets(stored)).toEqual([0, 1, 2]);
    expect(texts(stored)).toEqual(['a', 'b', 'c']);
  });

  test('L1: what was read once reads the same ever after', async () => {
    const target = under.fresh();
    await under.log.append(target, [record('first'), record('second')]);
    const before = texts(await readAll(under.log, target));
    await Promise.all(Array.from({ length: 50 }, (_, index) => under.log.append(target, [record(`later ${index}`)])));
    expect(texts(await readAll(under.log, target)).slice(0, 2)).toEqual(before);
  });

  test('L2: an acknowledged append is there for the next read', async () => {
    const target = under.fresh();
    for (let round = 0; round < 20; round++) {
      const first = await under.log.append(target, [record(String(round))]);
      const [result] = await under.log.read([{ partition: target, from: first }]);
      expect(texts(result!.records)).toEqual([String(round)]);
      expect(result!.end).toBe(first + 1);
    }
  });

  test('L3: appends to a partition land in the order of their calls, whether awaited or not', async () => {
    const target = under.fresh();
    const names = Array.from({ length: 300 }, (_, index) => `append ${index}`);
    const given = await Promise.all(names.map((name) => under.log.append(target, [record(name)])));
    expect(given).toEqual(names.map((_, index) => index));
    expect(texts(await readAll(under.log, target))).toEqual(names);
  });

  test('L4: the records of one append lie next to each other; the offset is that of the first', async () => {
    const target = under.fresh();
    const sizes = [3, 1, 7, 2, 40, 1];
    const appends = sizes.map((size, name) =>
      under.log.append(
        target,
        Array.from({ length: size }, (_, index) => record(`${name}.${index}`)),
      ),
    );
    const given = await Promise.all(appends);
    const stored = await readAll(under.log, target);
    given.forEach((first, name) => {
      const own = stored.slice(first, first + sizes[name]!);
      expect(texts(own)).toEqual(Array.from({ length: sizes[name]! }, (_, index) => `${name}.${index}`));
    });
    expect(stored.length).toBe(sizes.reduce((sum, size) => sum + size, 0));
  });

  test('partitions are apart', async () => {
    const targets = Array.from({ length: 6 }, () => under.fresh());
    const given = await Promise.all(
      targets.flatMap((target) => ['a', 'b'].map((text) => under.log.append(target, [record(`${target} ${text}`)]))),
    );
    expect(given).toEqual(targets.flatMap(() => [0, 1]));
    for (const target of targets) {
      expect(texts(await readAll(under.log, target))).toEqual([`${target} a`, `${target} b`]);
    }
  });

  test('any bytes, no bytes and a megabyte; any type; with and without a trace', async () => {
    const target = under.fresh();
    const everyByte = new Uint8Array(256).map((_, index) => index);
    const large = new Uint8Array(1_048_576).map((_, index) => (index * 31) >> 3);
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await under.log.append(target, [
      { value: everyByte, type: 'Bytes' },
      { value: new Uint8Array(), type: 'Nothing', trace },
      { value: large.subarray(1), type: 'Gezeiten – 潮', trace },
    ]);
    const stored = await readAll(under.log, target);
    const expected = [everyByte, new Uint8Array(), large.subarray(1)];
    expect(stored.map(({ value }, index) => Buffer.compare(value, expected[index]!))).toEqual([0, 0, 0]);
  });
}

function readTests(under: LogUnderTest): void {
  test('nothing is there yet: no records, end 0', async () => {
    const target = under.fresh();
    expect(await under.log.read([{ partition: target, from: offset(0) }])).toEqual([
      { partition: target, records: [], end: 0 },
    ]);
  });

  test('at the end: no records, and the end', async () => {
    const target = under.fresh();
    await under.log.append(target, [record('a'), record('b')]);
    const [result] = await under.log.read([{ partition: target, from: offset(2) }]);
    expect(result).toEqual({ partition: target, records: [], end: 2 });
  });

  test('begins exactly at the offset, also in the middle of what was appended together', async () => {
    const target = under.fresh();
    await under.log.append(
      target,
      ['a', 'b', 'c', 'd'].map((text) => record(text)),
    );
    const [result] = await under.log.read([{ partition: target, from: offset(2) }]);
    expect(offsets(result!.records)).toEqual([2, 3]);
    expect(texts(result!.records)).toEqual(['c', 'd']);
  });

  test('several partitions, each from its own offset, in the order asked for', async () => {
    const [one, two, three] = [under.fresh(), under.fresh(), under.fresh()];
    await under.log.append(one, [record('1a'), record('1b')]);
    await under.log.append(three, [record('3a')]);
    const results = await under.log.read([
      { partition: three, from: offset(0) },
      { partition: one, from: offset(1) },
      { partition: two, from: offset(0) },
    ]);
    expect(results.map((result) => result.partition)).toEqual([three, one, two]);
    expect(results.map((result) => texts(result.records))).toEqual([['3a'], ['1b'], []]);
    expect(results.map((result) => result.end)).toEqual([1, 2, 0]);
  });

  test('no partitions asked for', async () => {
    expect(await under.log.read([])).toEqual([]);
  });

  test('is bounded by maxBytes, and gives a record of each partition that has one', async () => {
    const targets = Array.from({ length: 4 }, () => under.fresh());
    const value = 'x'.repeat(10_000);
    for (const target of targets) await under.log.append(target, [record(value), record(value), record(value)]);
    const requests = targets.map((target) => ({ partition: target, from: offset(0) }));
    const little = await under.log.read(requests, { maxBytes: 1 });
    expect(little.map((result) => offsets(result.records))).toEqual(targets.map(() => [0]));
    expect(little.map((result) => result.end)).toEqual(targets.map(() => 3));
    const some = await under.log.read(requests, { maxBytes: 60_000 });
    const count = some.reduce((sum, result) => sum + result.records.length, 0);
    expect(count).toBeGreaterThanOrEqual(4);
    // What goes beyond maxBytes is at most the one record promised to each of the others.
    expect(count).toBeLessThanOrEqual(6 + 3);
    const all = await under.log.read(requests, { maxBytes: 120_000 });
    expect(all.map((result) => result.records.length)).toEqual([3, 3, 3, 3]);
  });

  test('a large backlog comes whole, in any number of reads', async () => {
    const target = under.fresh();
    const value = 'y'.repeat(3_000);
    const appends = Array.from({ length: 400 }, (_, index) => under.log.append(target, [record(`${index} ${value}`)]));
    await Promise.all(appends);
    for (let from = 0; from < 400; ) {
      const [result] = await under.log.read([{ partition: target, from: offset(from) }], { maxBytes: 100_000 });
      expect(offsets(result!.records)).toEqual(result!.records.map((_, index) => from + index));
      expect(texts(result!.records).every((text, index) => text.startsWith(`${from + index} `))).toBe(true);
      from += result!.records.length;
    }
  });

  test('past the end is an error, never a reset', async () => {
    const target = under.fresh();
    await under.log.append(target, [record('a')]);
    await expect(under.log.read([{ partition: target, from: offset(2) }])).rejects.toMatchObject({
      name: 'CorruptError',
      code: 'log-past-end',
      details: { partition: target, from: 2, end: 1 },
    });
  });
}

function trimTests(under: LogUnderTest): void {
  const filled = async (count: number): Promise<Partition> => {
    const target = under.fresh();
    await under.log.append(
      target,
      Array.from({ length: count }, (_, index) => record(String(index))),
    );
    return target;
  };
  const boundsOf = async (target: Partition) => (await under.log.bounds([target])).get(target);

  test('moves the start and leaves the rest', async () => {
    const target = await filled(5);
    await under.log.trim(target, offset(3));
    expect(await boundsOf(target)).toEqual({ start: 3, end: 5 });
    expect(texts(await readAll(under.log, target, 3))).toEqual(['3', '4']);
  });

  test('below the start is an error, never a reset', async () => {
    const target = await filled(3);
    await under.log.trim(target, offset(2));
    await expect(under.log.read([{ partition: target, from: offset(1) }])).rejects.toMatchObject({
      name: 'CorruptError',
      code: 'log-trimmed',
      details: { partition: target, from: 1, start: 2 },
    });
  });

  test('is harmless when repeated or below the start', async () => {
    const target = await filled(3);
    for (const before of [2, 2, 1, 0]) await under.log.trim(target, offset(before));
    expect(await boundsOf(target)).toEqual({ start: 2, end: 3 });
  });

  test('of everything leaves the end; appends go on from there', async () => {
    const target = await filled(3);
    await under.log.trim(target, offset(3));
    expect(await boundsOf(target)).toEqual({ start: 3, end: 3 });
    expect((await under.log.read([{ partition: target, from: offset(3) }]))[0]!.records).toEqual([]);
    expect(await under.log.append(target, [record('next')])).toBe(3);
    expect(texts(await readAll(under.log, target, 3))).toEqual(['next']);
  });

  test('never past the end', async () => {
    const target = await filled(2);
    await expect(under.log.trim(target, offset(3))).rejects.toMatchObject({
      name: 'InvalidError',
      code: 'trim-past-end',
    });
    expect(await boundsOf(target)).toEqual({ start: 0, end: 2 });
  });

  test('bounds of the partitions asked for, or of all', async () => {
    const [one, two] = [await filled(2), under.fresh()];
    const some = await under.log.bounds([two, one]);
    expect([...some]).toEqual([
      [two, { start: 0, end: 0 }],
      [one, { start: 0, end: 2 }],
    ]);
    const all = await under.log.bounds();
    expect(all.size).toBe(await under.log.partitionCount());
    expect(all.get(one)).toEqual({ start: 0, end: 2 });
  });

  test('the size grows with what is appended', async () => {
    const before = await under.log.sizeBytes();
    await under.log.append(under.fresh(), [record('z'.repeat(1_000_000))]);
    // Some of it fits into room that was counted before.
    expect(await under.log.sizeBytes()).toBeGreaterThan(before + 900_000);
  });
}

function refusalTests(under: LogUnderTest): void {
  const ended = async (target: Partition): Promise<number> => (await under.log.bounds([target])).get(target)!.end;

  test('a value of the greatest size is taken, one byte more is not, and nothing of that append', async () => {
    const target = under.fresh();
    const greatest = { value: new Uint8Array(under.log.recordMaxBytes).fill(7), type: 'Large' };
    expect(await under.log.append(target, [greatest])).toBe(0);
    const tooLarge = { value: new Uint8Array(under.log.recordMaxBytes + 1), type: 'TooLarge' };
    await expect(under.log.append(target, [record('small'), tooLarge])).rejects.toMatchObject({
      name: 'LimitError',
      code: 'record-too-large',
    });
    expect(await ended(target)).toBe(1);
    const [stored] = await readAll(under.log, target);
    expect(Buffer.compare(stored!.value, greatest.value)).toBe(0);
  });

  test('an append of many large values is refused whole', async () => {
    const target = under.fresh();
    const large = { value: new Uint8Array(under.log.recordMaxBytes), type: 'Large' };
    const many = Array.from({ length: 16 }, () => large);
    await expect(under.log.append(target, many)).rejects.toMatchObject({
      name: 'LimitError',
      code: 'append-too-large',
    });
    expect(await ended(target)).toBe(0);
    expect(await under.log.append(target, [record('after')])).toBe(0);
  });

  test('partitions that do not exist', async () => {
    const refused = { name: 'InvalidError', code: 'partition-unknown' };
    for (const number of [await under.log.partitionCount(), -1, 0.5]) {
      const unknown = partition(number);
      await expect(under.log.append(unknown, [record('a')])).rejects.toMatchObject(refused);
      await expect(under.log.read([{ partition: unknown, from: offset(0) }])).rejects.toMatchObject(refused);
      await expect(under.log.bounds([unknown])).rejects.toMatchObject(refused);
      await expect(under.log.trim(unknown, offset(0))).rejects.toMatchObject(refused);
    }
  });

  test('an append of nothing; a partition twice in one read', async () => {
    const target = under.fresh();
    await expect(under.log.append(target, [])).rejects.toMatchObject({ name: 'InvalidError', code: 'append-empty' });
    const twice = [0, 0].map((from) => ({ partition: target, from: offset(from) }));
    await expect(under.log.read(twice)).rejects.toMatchObject({ name: 'InvalidError', code: 'read-repeated' });
  });

  test('given up before it began: nothing is appended, and others are not held up', async () => {
    const target = under.fresh();
    const reason = new Error('no longer wanted');
    const signal = AbortSignal.abort(reason);
    const given = under.log.append(target, [record('unwanted')], { signal });
    const other = under.log.append(target, [record('wanted')]);
    await expect(given).rejects.toMatchObject({ name: 'UnavailableError', code: 'append-aborted', cause: reason });
    expect(await other).toBe(0);
    expect(texts(await readAll(under.log, target))).toEqual(['wanted']);
  });

  test('a signal that is never raised changes nothing', async () => {
    const { signal } = new AbortController();
    const target = under.fresh();
    const given = Array.from({ length: 20 }, () => under.log.append(target, [record('a')], { signal }));
    expect(await Promise.all(given)).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });
}

function growthTests(under: LogUnderTest): void {
  test('adds partitions, keeps what is there, never shrinks', async () => {
    const old = under.fresh();
    await under.log.append(old, [record('kept')]);
    const count = await under.log.partitionCount();
    expect(await under.log.growTo(count + 3)).toBe(count + 3);
    expect(await under.log.growTo(count)).toBe(count + 3);
    expect(await under.log.partitionCount()).toBe(count + 3);
    const added = partition(count + 2);
    expect((await under.log.bounds([added])).get(added)).toEqual({ start: 0, end: 0 });
    expect(await under.log.append(added, [record('new')])).toBe(0);
    expect(texts(await readAll(under.log, added))).toEqual(['new']);
    expect(texts(await readAll(under.log, old))).toEqual(['kept']);
  });

  test('is harmless when concurrent', async () => {
    const count = await under.log.partitionCount();
    const counts = await Promise.all([2, 4, 1, 4].map((more) => under.log.growTo(count + more)));
    expect(Math.max(...counts)).toBe(count + 4);
    expect(await under.log.partitionCount()).toBe(count + 4);
  });
}

function twoProcessTests(under: LogUnderTest): void {
  test('appends of two processes interleave; each keeps its own order', async ({ skip }) => {
    const { another } = under.opened;
    if (another === undefined) return skip('only one process may have this log');
    const other = await another();
    const target = under.fresh();
    const names = (writer: string) => Array.from({ length: 100 }, (_, index) => `${writer} ${index}`);
    const [ours, theirs] = await Promise.all(
      [[under.log, 'ours'] as const, [other, 'theirs'] as const].map(async ([log, writer]) => {
        const given: number[] = [];
        for (const name of names(writer)) given.push(await log.append(target, [record(name)]));
        return given;
      }),
    );
    expect([...ours!, ...theirs!].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, index) => index));
    const stored = texts(await readAll(other, target));
    expect(stored.filter((text) => text.startsWith('ours'))).toEqual(names('ours'));
    expect(stored.filter((text) => text.startsWith('theirs'))).toEqual(names('theirs'));
    await other.close();
  });

  test('partitions that another process added are found', async ({ skip }) => {
    const { another } = under.opened;
    if (another === undefined) return skip('only one process may have this log');
    const other = await another();
    const count = await other.growTo((await other.partitionCount()) + 1);
    expect(await under.log.append(partition(count - 1), [record('a')])).toBe(0);
    expect(await under.log.partitionCount()).toBe(count);
    await other.close();
  });
}

function reopenTests(under: LogUnderTest): void {
  test('everything is as it was', async () => {
    const [whole, trimmed, emptied] = [under.fresh(), under.fresh(), under.fresh()];
    for (const target of [whole, trimmed, emptied]) await under.log.append(target, [record('a'), record('b')]);
    await under.log.trim(trimmed, offset(1));
    await under.log.trim(emptied, offset(2));
    const count = await under.log.partitionCount();
    const before = await under.log.bounds();
    under.log = await under.opened.reopen();
    expect(await under.log.partitionCount()).toBe(count);
    expect(await under.log.bounds()).toEqual(before);
    expect(texts(await readAll(under.log, whole))).toEqual(['a', 'b']);
    expect(texts(await readAll(under.log, trimmed, 1))).toEqual(['b']);
    expect(await under.log.append(emptied, [record('c')])).toBe(2);
  });

  test('appends under way are answered when it closes; nothing is taken afterwards', async () => {
    const target = under.fresh();
    const given = Array.from({ length: 50 }, (_, index) => under.log.append(target, [record(String(index))]));
    const closing = under.log.close();
    expect(await Promise.all(given)).toEqual(given.map((_, index) => index));
    await closing;
    const closed = { name: 'UnavailableError' };
    await expect(under.log.append(target, [record('late')])).rejects.toMatchObject({
      ...closed,
      code: 'append-closed',
    });
    await expect(under.log.read([{ partition: target, from: offset(0) }])).rejects.toMatchObject(closed);
    await expect(under.log.bounds()).rejects.toMatchObject(closed);
    await under.log.close();
    under.log = await under.opened.reopen();
    expect((await readAll(under.log, target)).length).toBe(50);
  });
}
