/** Owns the part of EventLog's contract about reading, bounds and trimming. */

import { offset, type Partition } from '@tidemark/core';
import { expect, test } from 'vitest';
import { type LogUnderTest, offsets, readAll, record, texts } from './event-log-under-test.ts';

export function readTests(under: LogUnderTest): void {
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

  test('ends where it is told to, and has nothing of what begins there', async () => {
    const target = under.fresh();
    await under.log.append(
      target,
      ['a', 'b', 'c', 'd'].map((text) => record(text)),
    );
    const read = async (from: number, to: number) =>
      (await under.log.read([{ partition: target, from: offset(from), to: offset(to) }]))[0]!;
    expect(texts((await read(1, 3)).records)).toEqual(['b', 'c']);
    expect((await read(1, 3)).end).toBe(4);
    expect(texts((await read(2, 9)).records)).toEqual(['c', 'd']);
    expect((await read(2, 2)).records).toEqual([]);
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
    // At most the one record promised to each of the others exceeds maxBytes.
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

export function trimTests(under: LogUnderTest): void {
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
