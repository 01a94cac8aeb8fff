/** How take-overs are measured: which ends count, and from when to when. */

import { entryOf, holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import { expect, test } from 'vitest';
import type { FaultKind, FaultRecord } from './faults.ts';
import { acceptedOf, type History } from './history.ts';
import { checkpointTimes, isDisturbed, takeOvers } from './resume.ts';

const fault = (kind: FaultKind, fromMs: number, toMs = fromMs, holder = 'a'): FaultRecord => ({
  kind,
  target: 'x',
  holder,
  fromMs,
  toMs,
});
const by = (holder: string, epoch: number, ordinal: number) => ({ holder, epoch, ordinal });

function streamsOf(...events: ReturnType<typeof entryOf>[]) {
  const history: History = [
    events.map((entry, offset) => ({
      partition: 0,
      offset,
      entry,
      verdict: { kind: 'accepted', position: offset + 1 } as never,
    })),
  ];
  return acceptedOf(history);
}

const claim = (holder: string, epoch: number, atMs: number) =>
  entryOf(holderEvent('LeaseClaimed', by(holder, epoch, 1), {}, { atMs }));
const commit = (holder: string, epoch: number, sequence: number, atMs: number) =>
  entryOf(holderEvent('CheckpointCommitted', by(holder, epoch, 2), { sequence }, { atMs }));
const release = (holder: string, epoch: number, atMs: number, reason: 'idle' | 'drain') =>
  entryOf(holderEvent('LeaseReleased', by(holder, epoch, 3), { reason }, { atMs }));
const paced = new Set(['w']);

test('from the kill to the next claim and the next checkpoint on another', () => {
  const revoked = entryOf(inboxEvent('LeaseRevoked', { epoch: 1, holder: 'a' }, { atMs: 10_150 }));
  const streams = streamsOf(
    claim('a', 1, 9_000),
    commit('a', 1, 1, 9_500),
    revoked,
    claim('b', 2, 10_200),
    commit('b', 2, 2, 10_260),
  );
  const found = takeOvers('kill9_worker', [fault('kill9_worker', 10_000)], streams, paced);
  expect(found).toMatchObject([{ workflow: 'w', claimMs: 200, checkpointMs: 260 }]);
  expect(checkpointTimes(found)).toEqual([260]);
  expect(checkpointTimes(takeOvers('kill9_worker', [fault('kill9_worker', 10_000)], streams, new Set()))).toEqual([]);
});

test('a step that ends within the drain budget is no standing still', () => {
  const streams = streamsOf(
    claim('a', 1, 9_000),
    commit('a', 1, 1, 10_400),
    release('a', 1, 10_410, 'drain'),
    claim('b', 2, 10_430),
    commit('b', 2, 2, 10_445),
  );
  expect(takeOvers('sigterm', [fault('sigterm', 10_000)], streams, paced)).toMatchObject([
    { claimMs: 20, checkpointMs: 35 },
  ]);
});

test('what another holds, what ended before and what waits is not taken over', () => {
  const kill = [fault('kill9_worker', 10_000)];
  const ofAnother = streamsOf(claim('b', 1, 9_000), commit('b', 1, 1, 10_100));
  const endedBefore = streamsOf(claim('a', 1, 9_000), release('a', 1, 9_500, 'idle'), claim('b', 2, 10_100));
  expect(takeOvers('kill9_worker', kill, ofAnother, paced)).toEqual([]);
  expect(takeOvers('kill9_worker', kill, endedBefore, paced)).toEqual([]);
  const waits = streamsOf(claim('a', 1, 9_000), release('a', 1, 10_050, 'idle'), claim('b', 2, 19_000));
  expect(takeOvers('sigterm', [fault('sigterm', 10_000)], waits, paced)).toEqual([]);
});

test('an end counts only while nothing else is wrong', () => {
  const kill = fault('kill9_worker', 100_000);
  expect(isDisturbed(kill, [kill])).toBe(false);
  expect(isDisturbed(kill, [kill, fault('broker_restart', 90_000, 99_000)])).toBe(true);
  expect(isDisturbed(kill, [kill, fault('broker_restart', 80_000, 90_000)])).toBe(false);
  expect(isDisturbed(kill, [kill, fault('link_hold', 101_000, 103_000)])).toBe(true);
  expect(isDisturbed(kill, [kill, fault('kill9_worker', 99_000, 105_000)])).toBe(true);
  expect(isDisturbed(kill, [kill, fault('kill9_worker', 97_000, 105_000)])).toBe(false);
  expect(isDisturbed(kill, [kill, fault('sigstop', 90_000, Number.POSITIVE_INFINITY)])).toBe(true);
});
