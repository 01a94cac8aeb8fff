/** Runs the contract of WatchBus in process memory. */

import type { WorkflowId } from '@tidemark/core';
import { WATCH_KEPT_IN_MEMORY_MAX_BYTES, WATCH_KEPT_MS } from '@tidemark/ports';
import { watchBusContract } from '@tidemark/testkit/contracts/watch-bus';
import { expect, test } from 'vitest';
import { createMemoryWatch } from './memory-watch.ts';

watchBusContract('memory', async () => {
  const bus = createMemoryWatch();
  return { bus, another: async () => bus, close: () => bus.close() };
});

test('what is kept ends by itself: by age, and the oldest workflow first where all together are too large', async () => {
  let nowMs = 0;
  const bus = createMemoryWatch(() => nowMs);
  const kept = async (workflow: string): Promise<number> => {
    const heard: string[] = [];
    const end = await bus.subscribe(workflow as WorkflowId, (message) => heard.push(message));
    await new Promise((resolve) => setImmediate(resolve));
    await end();
    return heard.length;
  };
  const first = { epoch: 1, number: 1, replaces: false };
  const text = 'x'.repeat(200_000);
  const count = Math.ceil(WATCH_KEPT_IN_MEMORY_MAX_BYTES / (2 * text.length)) + 1;
  for (let at = 0; at < count; at++) bus.publish(`w${at}` as WorkflowId, text, first);
  expect([await kept('w0'), await kept(`w${count - 1}`)]).toEqual([0, 1]);
  nowMs += WATCH_KEPT_MS;
  bus.publish('young' as WorkflowId, text, first);
  nowMs += 1;
  expect([await kept(`w${count - 1}`), await kept('young')]).toEqual([0, 1]);
});
