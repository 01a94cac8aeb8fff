/** Owns the part of EventLog's contract about appends: offsets, order, atomicity (L1–L4). */

import type { Offset } from '@tidemark/core';
import { expect, test } from 'vitest';
import { type LogUnderTest, offsets, readAll, record, texts } from './event-log-under-test.ts';

export function appendTests(under: LogUnderTest): void {
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
