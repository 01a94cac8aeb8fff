/** Owns the arithmetic of delays between attempts. Pure: randomness is an argument. */

/** Delay before attempt n + 1: `min(firstDelayMs * factor ** (n - 1), maxDelayMs)`, of which up to `jitter` is random. */
export interface RetryPolicy {
  /** Attempts in all, the first included; 1: no retry. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  /** Share of the delay that is random, 0..1. */
  readonly jitter: number;
  /** Codes of errors (or their names, where they have no code) after which there is no further attempt. */
  readonly nonRetryable: readonly string[];
}

/** How a step is retried unless its definition says otherwise. */
export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 3,
  firstDelayMs: 200,
  factor: 2,
  maxDelayMs: 60_000,
  jitter: 0.2,
  nonRetryable: [],
};

/** Delay, in milliseconds, after `failureCount` failures; `random` is in [0, 1). */
export function retryDelayMs(policy: RetryPolicy, failureCount: number, random: number): number {
  // The power may be infinite, and 0 times infinity is not a number.
  const wanted = policy.firstDelayMs === 0 ? 0 : policy.firstDelayMs * policy.factor ** (failureCount - 1);
  const full = Math.min(wanted, policy.maxDelayMs);
  return Math.round(full * (1 - policy.jitter * random));
}

/** Delay in milliseconds before something unavailable is tried again: doubles from `firstMs` up to `maxMs`. */
export const backoffMs = (failureCount: number, firstMs: number, maxMs: number): number =>
  Math.min(firstMs * 2 ** Math.min(failureCount - 1, 30), maxMs);
