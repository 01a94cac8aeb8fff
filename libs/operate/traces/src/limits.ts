/** Owns the limits of traces. */

/** Bytes of one read of history from log and segments. */
export const HISTORY_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Spans of one request to a collector, at most: some 700 KB of usual ones. A request costs as much as drawing hundreds. */
export const SPANS_PER_REQUEST_MAX = 2_048;
/**
 * When the process ends: how long, in milliseconds, a collector may take to answer a request, and how long further requests begin. Their
 * packages are loaded before.
 */
export const LAST_ANSWER_MAX_MS = 2_000;
export const LAST_FLUSH_MAX_MS = 3_000;
