/** Owns turning retry options into a policy: a base fills in missing ones. Must not wait or count: that is the runtime. */

import type { RetryPolicy } from '@tidemark/runtime';

/** Codes of errors that a retry policy may name as final, at most. */
const NON_RETRYABLE_MAX_COUNT = 100;
/** Most attempts of a retry policy. */
const ATTEMPTS_MAX_COUNT = 1_000;
/** Longest delay between two attempts in a retry policy: a week. */
const RETRY_DELAY_MAX_MS = 7 * 24 * 60 * 60 * 1_000;

/** Delay before attempt n + 1: `min(firstDelayMs * factor ** (n - 1), maxDelayMs)`, of which up to `jitter` is random. `limits.ts` documents the defaults. */
export interface RetryOptions {
  /** Attempts in all, the first included, 1..1,000; 1: never again. */
  readonly attempts?: number | undefined;
  /** 0 or more. */
  readonly firstDelayMs?: number | undefined;
  /** 1 or more. */
  readonly factor?: number | undefined;
  /** Up to a week. */
  readonly maxDelayMs?: number | undefined;
  /** Share of the delay that is random, 0..1. */
  readonly jitter?: number | undefined;
  /** Codes of errors, or their names where they have no code, after which no further attempt is made: `['card-declined']`. */
  readonly nonRetryable?: readonly string[] | undefined;
}

/** The base, overridden by the options. */
export function retryPolicy(options: RetryOptions | undefined, base: RetryPolicy): RetryPolicy {
  const firstDelayMs = options?.firstDelayMs ?? base.firstDelayMs;
  return {
    attempts: options?.attempts ?? base.attempts,
    firstDelayMs,
    factor: options?.factor ?? base.factor,
    // A first delay beyond the base's longest one means to wait that long.
    maxDelayMs: options?.maxDelayMs ?? Math.max(base.maxDelayMs, firstDelayMs),
    jitter: options?.jitter ?? base.jitter,
    nonRetryable: options?.nonRetryable ?? base.nonRetryable,
  };
}

const KNOWN = ['attempts', 'firstDelayMs', 'factor', 'maxDelayMs', 'jitter', 'nonRetryable'];

/** The mistakes of a policy made of these options, in words; empty when there are none. */
export function retryProblems(options: RetryOptions | undefined, policy: RetryPolicy): readonly string[] {
  const unknown = Object.keys(options ?? {}).filter((key) => !KNOWN.includes(key));
  return [
    ...unknown.map((key) => `retry.${key} is not an option; known: ${KNOWN.join(', ')}`),
    ...outside('attempts', policy.attempts, 1, ATTEMPTS_MAX_COUNT, Number.isInteger(policy.attempts)),
    ...outside('firstDelayMs', policy.firstDelayMs, 0, RETRY_DELAY_MAX_MS),
    ...outside('factor', policy.factor, 1, 1_000),
    ...outside('maxDelayMs', policy.maxDelayMs, policy.firstDelayMs, RETRY_DELAY_MAX_MS),
    ...outside('jitter', policy.jitter, 0, 1),
    ...badCodes(policy.nonRetryable),
  ];
}

function badCodes(codes: readonly string[]): readonly string[] {
  const isList = Array.isArray(codes) && codes.length <= NON_RETRYABLE_MAX_COUNT;
  if (isList && codes.every((code) => typeof code === 'string' && code !== '')) return [];
  return [`retry.nonRetryable must be a list of at most ${NON_RETRYABLE_MAX_COUNT} error codes`];
}

function outside(name: string, value: number, min: number, max: number, also = true): readonly string[] {
  if (also && value >= min && value <= max) return [];
  return [`retry.${name} must be ${name === 'attempts' ? 'a whole number ' : ''}between ${min} and ${max}`];
}
