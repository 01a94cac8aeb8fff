/** Owns the part of EventLog's contract about growth, several processes, closing and opening again. */

import { offset, partition } from '@tidemark/core';
import { expect, test } from 'vitest';
import { type LogUnderTest, readAll, record, texts } from './event-log-under-test.ts';

export function growthTests(under: LogUnderTest): void {
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

export function twoProcessTests(under: LogUnderTest): void {
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

export function reopenTests(under: LogUnderTest): void {
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
