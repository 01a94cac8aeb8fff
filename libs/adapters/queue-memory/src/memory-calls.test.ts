/** Runs the contract of CallLimiter in memory. */

import { callLimiterContract } from '@tidemark/testkit/contracts/call-limiter';
import { createMemoryCalls } from './memory-calls.ts';

callLimiterContract('memory', async (nowMs) => {
  const limiter = createMemoryCalls({ monotonicMs: nowMs });
  return { limiter, close: () => limiter.close() };
});
