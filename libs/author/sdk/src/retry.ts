/** Owns the checks of retry options. Must not wait or count: that is the runtime. */

import type { RetryOptions, RetryPolicy } from '@tidemark/runtime';

/** Codes of errors that a retry policy may name as final, or as passing, at most. */
const CODES_MAX_COUNT = 100;
/** Longest patience of a retry policy: 30 days. */
const PATIENCE_MAX_MS = 30 * 24 * 60 * 60 * 1_000;
/** Most attempts of a retry policy. */
const ATTEMPTS_MAX_COUNT = 1_000;
/** Longest delay between two attempts in a retry policy: a week. */
const RETRY_DELAY_MAX_MS = 7 * 24 * 60 * 60 * 1_000;

const KNOWN = ['attempts', 'patienceMs', 'firstDelayMs', 'factor', 'maxDelayMs', 'jitter', 'nonRetryable', 'passing'];

/** The mistakes of a policy made of these options, in words; empty when there are none. */
export function retryProblems(options: RetryOptions | undefined, policy: RetryPolicy): readonly string[] {
  const unknown = Object.keys(options ?? {}).filter((key) => !KNOWN.includes(key));
  return [
    ...unknown.map((key) => `retry.${key} is not an option; known: ${KNOWN.join(', ')}`),
    ...outside('attempts', policy.attempts, 1, ATTEMPTS_MAX_COUNT, Number.isInteger(policy.attempts)),
    ...outside('patienceMs', policy.patienceMs ?? 0, 0, PATIENCE_MAX_MS),
    ...outside('firstDelayMs', policy.firstDelayMs, 0, RETRY_DELAY_MAX_MS),
    ...outside('factor', policy.factor, 1, 1_000),
    ...outside('maxDelayMs', policy.maxDelayMs, policy.firstDelayMs, RETRY_DELAY_MAX_MS),
    ...outside('jitter', policy.jitter, 0, 1),
    ...badCodes('nonRetryable', policy.nonRetryable),
    ...badCodes('passing', policy.passing ?? []),
  ];
}

function badCodes(name: string, codes: readonly string[]): readonly string[] {
  const isList = Array.isArray(codes) && codes.length <= CODES_MAX_COUNT;
  if (isList && codes.every((code) => typeof code === 'string' && code !== '')) return [];
  return [`retry.${name} must be a list of at most ${CODES_MAX_COUNT} error codes`];
}

function outside(name: string, value: number, min: number, max: number, also = true): readonly string[] {
  if (also && value >= min && value <= max) return [];
  return [`retry.${name} must be ${name === 'attempts' ? 'a whole number ' : ''}between ${min} and ${max}`];
}
