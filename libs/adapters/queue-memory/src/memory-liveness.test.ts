/** Runs the contract of Liveness in memory, and what holds in one process alone. */

import { holderId } from '@tidemark/core';
import { livenessContract } from '@tidemark/testkit/contracts/liveness';
import { expect, test } from 'vitest';
import { createMemoryLiveness } from './memory-liveness.ts';

livenessContract('memory', async () => {
  const liveness = createMemoryLiveness();
  return { liveness, other: liveness, runsOut: false, pass: () => {}, close: () => liveness.close() };
});

test('the first view is trusted: nothing can have been lost', async () => {
  const liveness = createMemoryLiveness();
  expect(await liveness.view({ markerAgeMs: 60_000 })).toMatchObject({ trusted: true, holders: new Map() });
});

test('a holder that never was in this process is gone: the folder has one process at a time', async () => {
  const liveness = createMemoryLiveness();
  await liveness.beat(holderId('h'), [], 1);
  const { isGone } = await liveness.view({ markerAgeMs: 0 });
  expect([isGone(holderId('h')), isGone(holderId('of another process'))]).toEqual([false, true]);
});

test('a beat counts until its holder leaves, however long the event loop was blocked', async () => {
  const liveness = createMemoryLiveness();
  await liveness.beat(holderId('h'), [], 1);
  const blockedUntilMs = performance.now() + 20;
  while (performance.now() < blockedUntilMs);
  expect((await liveness.view({ markerAgeMs: 0 })).holders.size).toBe(1);
});
