/** Owns the library's named limits and defaults, each with its unit. Must hold no behaviour. */

/**
 * Body of a response that is a result, at most, decompressed: 4 MiB by default. A worker has hundreds of calls under way and, by the chart, a
 * heap of 224 MB, where a body takes several times its bytes. Without large payloads an event holds 1 MiB, and the runtime says so.
 */
export const RESPONSE_MAX_BYTES = 4 * 1_024 * 1_024;
/** Bytes of an unwelcome response's body that are read for the error's excerpt. */
export const EXCERPT_MAX_BYTES = 2_048;
/** Characters of that body which the error's message shows. */
export const EXCERPT_MAX_CHARS = 300;
/** Redirects of one GET or HEAD that are followed. */
export const REDIRECTS_MAX_COUNT = 5;
/** Characters of a message by the outside (a database, a network stack) that an error shows. */
export const REASON_MAX_CHARS = 500;

/** A file written by one effect, at most: it is held in memory whole. */
export const FILE_MAX_BYTES = 64 * 1_024 * 1_024;
/** Attempts to write a file while other calls of its key remove their folder of drafts. */
export const DRAFT_ATTEMPTS_COUNT = 5;

/** Seconds after which the sender of a web hook should repeat it. */
export const HOOK_RETRY_AFTER_S = 2;
