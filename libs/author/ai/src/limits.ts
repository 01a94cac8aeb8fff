/** Owns the limits and defaults that several files share, each with its unit. Must hold no behaviour. */

/** Tokens that a cap on the answer may allow, at most. */
export const OUTPUT_TOKENS_MAX_COUNT = 10_000_000;

/**
 * Largest part of an answer that goes back to its provider with the next request, as JSON in UTF-8: 4 MiB, which holds a drawn image.
 * Signatures and encrypted reasoning take kilobytes.
 */
export const ANSWER_PARTS_MAX_BYTES = 4 * 1_024 * 1_024;

/**
 * Largest recorded answer as JSON in UTF-8: 8 MiB, many times what models answer in text. It is in memory several times while it is
 * recorded, and workers have small heaps. Without large payloads an event holds 1 MiB, and the runtime says so.
 */
export const ANSWER_MAX_BYTES = 8 * 1_024 * 1_024;

/** Largest body of a failed call that is read for what it says: 64 Ki characters. Providers' have some hundred. */
export const ERROR_BODY_MAX_CHARS = 64 * 1_024;
/** Embeddings of one recorded call: with 4,096 numbers each they fit an event of 1 MiB. embedMany makes several calls of more. */
export const EMBEDDINGS_PER_CALL_MAX_COUNT = 40;
