/**
 * Owns the part of EventLog's contract that compares a log with a naive one: any sequence of appends, reads and trims
 * gives the same answers as a list in memory. Run by `eventLogContract`.
 */

import { offset, type Partition } from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LogUnderTest, record, texts } from './event-log-under-test.ts';

/** Numbers are shares of what the partition holds at the time, so that every sequence makes sense. */
type Operation =
  | { readonly kind: 'append'; readonly sizes: readonly number[] }
  | { readonly kind: 'burst'; readonly sizes: readonly number[] }
  | { readonly kind: 'read'; readonly share: number; readonly maxBytes: number }
  | { readonly kind: 'trim'; readonly share: number };

const sizes = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 8 });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const operations: fc.Arbitrary<readonly Operation[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('append' as const), sizes }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('burst' as const), sizes }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('read' as const), share, maxBytes: fc.integer({ min: 1, max: 8_000 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('trim' as const), share }) },
  ),
  { minLength: 1, maxLength: 25 },
);

/** The same log as a list. */
class NaiveLog {
  readonly values: string[] = [];
  start = 0;
}

export function eventLogModelContract(under: LogUnderTest): void {
  test('appends, reads and trims in any order', async () => {
    const target = under.fresh();
    // All runs share a partition: a later run begins where the one before ended.
    const naive = new NaiveLog();
    const property = fc.asyncProperty(operations, async (sequence) => {
      for (const operation of sequence) await apply(under.log, target, naive, operation);
    });
    await fc.assert(property, { numRuns: 15, endOnFailure: true });
  });
}

async function apply(log: EventLog, target: Partition, naive: NaiveLog, operation: Operation): Promise<void> {
  const end = naive.values.length;
  switch (operation.kind) {
    case 'append': {
      const values = operation.sizes.map((size, index) => `${end + index} ${'v'.repeat(size)}`);
      naive.values.push(...values);
      expect(
        await log.append(
          target,
          values.map((value) => record(value)),
        ),
      ).toBe(end);
      return;
    }
    case 'burst': {
      const values = operation.sizes.map((size, index) => `${end + index} ${'w'.repeat(size)}`);
      naive.values.push(...values);
      const given = await Promise.all(values.map((value) => log.append(target, [record(value)])));
      expect(given).toEqual(values.map((_, index) => end + index));
      return;
    }
    case 'read': {
      const from = naive.start + Math.floor((end - naive.start) * operation.share);
      const [result] = await log.read([{ partition: target, from: offset(from) }], { maxBytes: operation.maxBytes });
      expect(result!.end).toBe(end);
      expect(texts(result!.records)).toEqual(naive.values.slice(from, from + result!.records.length));
      expect(result!.records.length > 0).toBe(from < end);
      return;
    }
    case 'trim': {
      naive.start += Math.floor((end - naive.start) * operation.share);
      await log.trim(target, offset(naive.start));
      expect((await log.bounds([target])).get(target)).toEqual({ start: naive.start, end });
    }
  }
}
