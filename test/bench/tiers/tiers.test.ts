/** The parts of `bench -- tiers`, in small: that what they measure is what they say. Times are not judged. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { decodeRecord } from '@tidemark/codec';
import { emptyPartition, foldEntry, type Offset, type Partition, workflowId } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { archiveRates, restoreTimes } from './archive.ts';
import { commitTimes } from './commits.ts';
import { sessionHistory } from './compression.ts';
import { BulkHistory, EVENTS_BESIDE_STEPS } from './history.ts';
import { BulkLog } from './log.ts';

const P3 = 3 as Partition;
const EMBEDDED_PARTITIONS = 16;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-tiers-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('history in bulk is what the fold accepts, workflow after workflow', () => {
  const bulk = new BulkHistory();
  let state = emptyPartition(P3, 0 as Offset);
  for (let generation = 1; generation <= 3; generation++) {
    const workflow = workflowId(`w-${generation}`);
    const given = { workflow, partition: P3, generation, steps: 5, outputBytes: 300, atMs: generation * 10_000 };
    const records = bulk.workflow(given);
    expect(records).toHaveLength(5 + EVENTS_BESIDE_STEPS);
    for (const { value } of records) {
      const { state: after, verdict } = foldEntry(state, decodeRecord(value));
      expect(verdict).toMatchObject({ kind: 'accepted' });
      state = after;
    }
    expect(state.streams.get(workflow)?.status).toBe('completed');
  }
});

it('a pass archives all that was filled in, and rows come back from segments', async () => {
  const host = await openEmbedded({ folder });
  try {
    const log = new BulkLog(host);
    const filling = { workflows: EMBEDDED_PARTITIONS, steps: 4, outputBytes: 100 };
    // What is smaller than a segment is worth waits, unless its oldest event is old, as it is here.
    expect(await archiveRates(log, EMBEDDED_PARTITIONS, filling, 1)).toHaveLength(1);
    expect(await log.fill(EMBEDDED_PARTITIONS, filling)).toBe(EMBEDDED_PARTITIONS * (4 + EVENTS_BESIDE_STEPS));
    expect(await log.archiveUntil(Date.now() + 60_000, 1e9)).toBe(EMBEDDED_PARTITIONS * (4 + EVENTS_BESIDE_STEPS));
    for (const { start, end } of (await host.tiers!.hot.bounds()).values()) expect(start).toBe(end);
    expect(await restoreTimes(host, log.first!, 2)).toHaveLength(2);
  } finally {
    await host.close();
  }
});

it('sizes are of the same records', async () => {
  const { eventCount, rawBytes, segmentBytes, linesBytes } = await sessionHistory(folder, {}, 5);
  expect(eventCount).toBeGreaterThan(20);
  for (const bytes of [segmentBytes, linesBytes]) {
    expect(bytes).toBeGreaterThan(rawBytes / 50);
    expect(bytes).toBeLessThan(rawBytes);
  }
});

it('commits count for the phase in which they began, but for its beginning', () => {
  const phases = [
    { isArchiving: false, fromMs: 0, toMs: 5_000 },
    { isArchiving: true, fromMs: 5_000, toMs: 10_000 },
  ];
  const beats = [
    { beganMs: [400, 405, 1_007, 4_999, 5_700], endedMs: [403, 1_000, 4_990, 5_690] },
    { beganMs: [6_000, 6_050], endedMs: [6_020] },
  ];
  expect(commitTimes(beats, phases, false)).toEqual([7, 9]);
  expect(commitTimes(beats, phases, true)).toEqual([10, 30]);
});
