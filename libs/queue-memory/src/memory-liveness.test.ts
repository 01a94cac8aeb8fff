/** Runs the contract of Liveness in memory, with a clock that the test moves. */

import { holderId } from '@tidemark/core';
import { livenessContract } from '@tidemark/testkit/contracts/liveness';
import { expect, test } from 'vitest';
import { createMemoryLiveness } from './memory-liveness.ts';

livenessContract('memory', async () => {
  let nowMs = 0;
  const liveness = createMemoryLiveness({ clock: { monotonicMs: () => nowMs } });
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { liveness, other: liveness, pass, close: () => liveness.close() };
});

test('the first view is trusted: nothing can have been lost', async () => {
  const liveness = createMemoryLiveness({ clock: { monotonicMs: () => 0 } });
  expect(await liveness.view({ markerAgeMs: 60_000 })).toEqual({ trusted: true, holders: new Map() });
});

test('a beat counts until its ttl and not at it', async () => {
  let nowMs = 0;
  const liveness = createMemoryLiveness({ clock: { monotonicMs: () => nowMs } });
  await liveness.beat(holderId('h'), [], 100);
  nowMs = 99;
  expect((await liveness.view({ markerAgeMs: 0 })).holders.size).toBe(1);
  nowMs = 100;
  expect((await liveness.view({ markerAgeMs: 0 })).holders.size).toBe(0);
});
