/**
 * Owns loading kafkajs, with a repair: kafkajs 2.2.4 polls for waiting requests every millisecond on every connection, forever, and Node 24
 * warns of the negative time it sets (tulios/kafkajs issues 1704 and 1751). With the repair it polls only while a request waits. Everything
 * else is the library's own.
 */

import { createRequire } from 'node:module';
import kafkajs from 'kafkajs';

/** Poll interval of a request that waits for its turn, unless the broker requested a longer pause. */
const CHECK_INTERVAL_MS = 10;

interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

function scheduleWhileWaiting(this: RequestQueue): void {
  if (this.throttleCheckTimeoutId !== null || this.pending.length === 0) return;
  const pauseMs = Math.max(CHECK_INTERVAL_MS, this.throttledUntil - Date.now());
  this.throttleCheckTimeoutId = setTimeout(() => {
    this.throttleCheckTimeoutId = null;
    this.checkPendingRequests();
  }, pauseMs);
}

function repair(): void {
  try {
    const queue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
    if (typeof queue.prototype.scheduleCheckPendingRequests !== 'function') return;
    queue.prototype.scheduleCheckPendingRequests = scheduleWhileWaiting;
  } catch {
    // Another version with another layout is left as it is.
  }
}

repair();

export const { ConfigResourceTypes, Kafka, logLevel } = kafkajs;
