/** Owns the part of EventLog's contract about limits, wrong input and giving up. */

import { offset, type Partition, partition } from '@tidemark/core';
import { expect, test } from 'vitest';
import { type LogUnderTest, readAll, record, texts } from './event-log-under-test.ts';

export function refusalTests(under: LogUnderTest): void {
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
