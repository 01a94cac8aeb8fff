/** Owns the arithmetic of delays between attempts. Pure: randomness comes in. */

import type { RetryPolicy } from './definition.ts';

/** How a step is tried again unless it says otherwise. */
export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 3,
  firstDelayMs: 200,
  factor: 2,
  maxDelayMs: 60_000,
  jitter: 0.2,
};

/** Delay, in milliseconds, after `failureCount` failures; `random` is in [0, 1). */
export function retryDelayMs(policy: RetryPolicy, failureCount: number, random: number): number {
  const full = Math.min(policy.firstDelayMs * policy.factor ** (failureCount - 1), policy.maxDelayMs);
  return Math.round(full * (1 - policy.jitter * random));
}

/** Delay, in milliseconds, before the next look at something that is away: doubles from `firstMs` up to `maxMs`. */
export const backoffMs = (failureCount: number, firstMs: number, maxMs: number): number =>
  Math.min(firstMs * 2 ** Math.min(failureCount - 1, 30), maxMs);
