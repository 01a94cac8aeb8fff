/** Owns the library's named limits and defaults, each with its unit. Must hold no behaviour. */

import type { RetryPolicy } from '@tidemark/runtime';

/** Tokens reserved in a budget for an answer, where neither the model nor the call limits its length. */
export const OUTPUT_TOKENS_DEFAULT_COUNT = 8_192;
/** Time-out of one model call by default: ten minutes, since a model that reasons may be silent for minutes. */
export const MODEL_TIMEOUT_DEFAULT_MS = 600_000;
/** Longest time-out of one model call: an hour. */
export const MODEL_TIMEOUT_MAX_MS = 3_600_000;
/** Tokens that a cap on the answer may allow, at most. */
export const OUTPUT_TOKENS_MAX_COUNT = 10_000_000;

/** Retry of a model call by default; `nonRetryable` always holds the codes of errors that no further attempt can fix. */
export const MODEL_RETRY_DEFAULT: Omit<RetryPolicy, 'nonRetryable'> = {
  attempts: 5,
  firstDelayMs: 1_000,
  factor: 2,
  maxDelayMs: 60_000,
  jitter: 0.2,
};
/** Longest Retry-After of a provider that is reported, in milliseconds: a day. A longer one is cut to it. */
export const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

/**
 * Largest recorded answer as JSON in UTF-8: 8 MiB, many times what models answer in text. It is in memory several times while it is
 * recorded, and workers have small heaps. Without large payloads an event holds 1 MiB, and the runtime says so.
 */
export const ANSWER_MAX_BYTES = 8 * 1_024 * 1_024;
/** Characters from which on text in a tool call's input is stored once although it is recorded in two forms. */
export const FOLDED_MIN_CHARS = 256;

/** Characters of a provider's own words that an error shows. */
export const EXCERPT_MAX_CHARS = 300;
/** Characters of a provider's own words that are read for that. */
export const PROVIDER_TEXT_MAX_CHARS = 4_000;
/** Longest wait for a provider's headers, which are needed to mask them, in milliseconds. */
export const HEADERS_WAIT_MS = 1_000;

/** Decimals of a price in dollars per million tokens. */
export const PRICE_DECIMALS_MAX_COUNT = 6;
/** Most dollars per million tokens: a higher price is taken for a mistake. */
export const PRICE_MAX_USD = 100_000;
/** Largest file of prices. */
export const PRICES_FILE_MAX_BYTES = 4 * 1_024 * 1_024;
/** Problems of one value that an error message spells out; the rest are counted. */
export const PROBLEMS_SHOWN_COUNT = 5;
/** Characters of a value that an error message quotes. */
export const QUOTED_MAX_CHARS = 60;

/** Most stop sequences of one call. */
export const STOP_SEQUENCES_MAX_COUNT = 64;
