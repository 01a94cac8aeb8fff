/** The repair of kafkajs: no timer while nothing waits. */

import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import './kafkajs.ts';

test('kafkajs no longer looks for requests when none waits', () => {
  const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue');
  const queue = Object.assign(Object.create(RequestQueue.prototype), {
    pending: [],
    inflight: new Map(),
    throttledUntil: -1,
    throttleCheckTimeoutId: null,
  });
  queue.checkPendingRequests();
  expect(queue.throttleCheckTimeoutId).toBeNull();
  queue.maxInFlightRequests = 0;
  queue.pending.push({});
  queue.checkPendingRequests();
  expect(queue.throttleCheckTimeoutId).not.toBeNull();
  clearTimeout(queue.throttleCheckTimeoutId);
});
