/** The view of all tiers, with several partitions in segments: each segment is read once, however little of it fits. */

import { CorruptError, type Offset, type Partition } from '@tidemark/core';
import type { EventLog, PartitionBounds, ReadRequest } from '@tidemark/ports';
import { expect, it } from 'vitest';
import type { Archive, KnownManifest } from './archive.ts';
import { TieredLog } from './tiered-log.ts';

const PARTITIONS = [0, 1, 2] as unknown as readonly Partition[];
const COUNT = 4;
const BYTES = 10;

/** Each partition has a segment with four records of ten bytes, and nothing in the log. */
function tiered() {
  const calls = { hot: 0, segments: [] as Partition[] };
  const bounds: PartitionBounds = { start: COUNT as Offset, end: COUNT as Offset };
  const hot = {
    read: async () => {
      calls.hot++;
      throw new CorruptError('log-trimmed', 'trimmed');
    },
    bounds: async (partitions: readonly Partition[]) => new Map(partitions.map((partition) => [partition, bounds])),
  } as unknown as EventLog;
  const archive = {
    manifestAt: async (partition: Partition) =>
      ({ partition, from: 0, to: COUNT, rawBytes: BYTES * COUNT }) as KnownManifest,
    records: async ({ partition }: KnownManifest) => {
      calls.segments.push(partition);
      return Array.from({ length: COUNT }, (_, offset) => ({ offset, value: new Uint8Array(BYTES) }));
    },
  } as unknown as Archive;
  return { log: new TieredLog(hot, archive), calls };
}

const from = (...offsets: readonly number[]): readonly ReadRequest[] =>
  PARTITIONS.map((partition, at) => ({ partition, from: offsets[at] as Offset }));

it('reads no segment of which nothing would fit, but for the first, and says that there is more', async () => {
  const { log, calls } = tiered();
  const results = await log.read(from(0, 0, 0), { maxBytes: BYTES * COUNT });
  expect(results.map(({ records, end }) => [records.length, end])).toEqual([
    [COUNT, COUNT],
    [0, COUNT],
    [0, COUNT],
  ]);
  expect(calls.segments).toEqual([0]);
  const little = await log.read(from(0, 0, 0), { maxBytes: 1 });
  expect(little.map(({ records }) => records.length)).toEqual([1, 0, 0]);
  // Control: a larger limit reads more.
  calls.segments.length = 0;
  const more = await log.read(from(0, 0, 0), { maxBytes: BYTES * (COUNT + 1) });
  expect(more.map(({ records }) => records.length)).toEqual([COUNT, 1, 0]);
  expect(calls.segments).toEqual([0, 1]);
});

it('asks the log once for what was trimmed', async () => {
  const { log, calls } = tiered();
  for (let at = 0; at < COUNT; at++) await log.read(from(at, at, at));
  expect(calls.hot).toBe(1);
});
