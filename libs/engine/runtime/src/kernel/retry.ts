/** Owns the arithmetic of delays between attempts. Pure: randomness is an argument. */

import { RETRY_AFTER_MAX_MS } from '@tidemark/core';

/** How steps, effects and models are retried unless their definition says otherwise. */
export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 5,
  patienceMs: 24 * 3_600_000,
  firstDelayMs: 200,
  factor: 2,
  maxDelayMs: 300_000,
  jitter: 1,
  nonRetryable: [],
  passing: [],
};

/** How what is never tried again is retried. */
export const NO_RETRY: RetryPolicy = { ...DEFAULT_RETRY, attempts: 1, patienceMs: 0 };

/**
 * What a definition says. Delay before attempt n + 1: `min(firstDelayMs * factor ** (n - 1), maxDelayMs)`, of which up to `jitter` is
 * random. `DEFAULT_RETRY` has the defaults.
 */
export interface RetryOptions {
  /** Attempts in all, the first included, 1..1,000; faults that pass by themselves use up none. 1: never again, also after such a fault. */
  readonly attempts?: number | undefined;
  /** How long faults that pass by themselves are waited out, up to a month; 0: they use up attempts. Default: a day. */
  readonly patienceMs?: number | undefined;
  /** 0 or more. */
  readonly firstDelayMs?: number | undefined;
  /** 1 or more. */
  readonly factor?: number | undefined;
  /** Up to a week. */
  readonly maxDelayMs?: number | undefined;
  /** Share of the delay that is random, 0..1. */
  readonly jitter?: number | undefined;
  /** Codes of errors (or their names, where they have no code) and statuses of answers after which no further attempt is made: `['card-declined', '429']`. */
  readonly nonRetryable?: readonly string[] | undefined;
  /** The same for faults that pass by themselves, besides those that are known to: `['500']`. */
  readonly passing?: readonly string[] | undefined;
}

type Filled = { readonly [K in keyof RetryOptions]-?: NonNullable<RetryOptions[K]> };

/** The options with their defaults. Absent: nothing is waited out (`patienceMs`), and no fault passes beside those that are known to. */
export type RetryPolicy = Omit<Filled, 'patienceMs' | 'passing'> & Pick<RetryOptions, 'patienceMs' | 'passing'>;

/** The base, overridden by the options. */
export function retryPolicy(options: RetryOptions | undefined, base: RetryPolicy): RetryPolicy {
  const firstDelayMs = options?.firstDelayMs ?? base.firstDelayMs;
  return {
    attempts: options?.attempts ?? base.attempts,
    patienceMs: options?.patienceMs ?? (options?.attempts === 1 ? 0 : base.patienceMs),
    firstDelayMs,
    factor: options?.factor ?? base.factor,
    // A first delay beyond the base's longest one means to wait that long.
    maxDelayMs: options?.maxDelayMs ?? Math.max(base.maxDelayMs, firstDelayMs),
    jitter: options?.jitter ?? base.jitter,
    nonRetryable: options?.nonRetryable ?? base.nonRetryable,
    passing: options?.passing ?? base.passing,
  };
}

/**
 * Least delay after a fault that passes by itself, in milliseconds: after the first, doubling up to the limit. Such a fault uses up no
 * attempt, so a policy that hardly waits would call for as long as its patience lasts without a pause.
 */
const PASSING_DELAY_MIN_MS = 100;
const PASSING_DELAY_MIN_LIMIT_MS = 30_000;
/** Share of that delay that is random. */
const PASSING_DELAY_SPREAD = 0.5;

/** Of a wait that a receiver asks for, the share that is added at random: all whom it told the same moment would come back at it. */
const ASKED_SPREAD = 0.5;

/**
 * Delay, in milliseconds, after `failureCount` failures; `random` is in [0, 1). `askedMs`: the wait that the receiver asked for, which the
 * delay is never shorter than, but for its limit.
 */
export function retryDelayMs(policy: RetryPolicy, failureCount: number, random: number, askedMs = 0): number {
  // The power may be infinite, and 0 times infinity is not a number.
  const wanted = policy.firstDelayMs === 0 ? 0 : policy.firstDelayMs * policy.factor ** (failureCount - 1);
  const own = Math.min(wanted, policy.maxDelayMs) * (1 - policy.jitter * random);
  const asked = Math.min(askedMs, RETRY_AFTER_MAX_MS);
  return Math.round(asked <= 0 ? own : asked + Math.max(own, asked * ASKED_SPREAD * policy.jitter * random));
}

/** Like `retryDelayMs`, after the given number of faults in a row that pass by themselves. */
export function passingDelayMs(
  policy: RetryPolicy,
  count: number,
  random: number,
  askedMs: number | undefined,
): number {
  const leastMs = backoffMs(count, PASSING_DELAY_MIN_MS, PASSING_DELAY_MIN_LIMIT_MS);
  const least = Math.round(leastMs * (1 - PASSING_DELAY_SPREAD * random));
  return Math.max(least, retryDelayMs(policy, count, random, askedMs));
}

/** Delay in milliseconds before something unavailable is tried again: doubles from `firstMs` up to `maxMs`. */
export const backoffMs = (failureCount: number, firstMs: number, maxMs: number): number =>
  Math.min(firstMs * 2 ** Math.min(failureCount - 1, 30), maxMs);
