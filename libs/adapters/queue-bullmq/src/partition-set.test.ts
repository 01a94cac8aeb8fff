/** The wire form of hinted partitions: it round-trips, and what is damaged is no hint. */

import { partition } from '@tidemark/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodePartitions, encodePartitions } from './partition-set.ts';

const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 0x7fffffff }), { maxLength: 200 });

test('any set of partitions round-trips', () => {
  fc.assert(
    fc.property(numbers, (set) => {
      const ascending = set.sort((a, b) => a - b).map(partition);
      expect(decodePartitions(encodePartitions(ascending))).toEqual(ascending);
    }),
  );
});

test('any bytes are read without a throw, as ascending partitions or none', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const read = decodePartitions(bytes);
      for (const [index, number] of read.entries()) {
        expect(Number.isSafeInteger(number)).toBe(true);
        if (index > 0) expect(number).toBeGreaterThanOrEqual(read[index - 1]!);
      }
    }),
  );
});

test('another version, a cut number and an overlong number are no hints', () => {
  expect(decodePartitions(Uint8Array.of())).toEqual([]);
  expect(decodePartitions(Uint8Array.of(2, 5))).toEqual([]);
  expect(decodePartitions(Uint8Array.of(1, 0x80))).toEqual([]);
  expect(decodePartitions(Uint8Array.of(1, 0x80, 0x80, 0x80, 0x80, 0x80, 1))).toEqual([]);
});

test('a thousand neighbours take a kilobyte', () => {
  const neighbours = Array.from({ length: 1_000 }, (_, index) => partition(2_000 + index));
  expect(encodePartitions(neighbours).length).toBeLessThan(1_024);
});
