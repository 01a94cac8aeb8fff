/**
 * Owns every limit that several rooms share: name, unit, default. Where an option overrides one, the code that reads the option says so.
 */

/** Conditions that one task may wait for, of which any one is enough; and the longest timer, in milliseconds: ten years. */
export const WAITS_PER_TASK_MAX = 16;
export const TIMER_MAX_MS = 10 * 366 * 86_400_000;
/**
 * A poll of everything runnable, or of all leases, rests this many times as long as it took, but no longer than keeps its results younger
 * than `POLL_AGE_MAX_MS` milliseconds at the end of the next poll.
 */
export const POLL_REST = 4;
export const POLL_AGE_MAX_MS = 10_000;
/** First and longest back-off while a server is unavailable, in milliseconds. */
export const BACKOFF_FIRST_MS = 50;
export const BACKOFF_MAX_MS = 2_000;
/** Period of the report of the log's growth, in milliseconds. */
export const GROWTH_PERIOD_MS = 60_000;
/** A loop without progress for this long, in milliseconds, counts as hung. It is far longer than any wait for an unavailable server. */
export const UNMOVED_MAX_MS = 600_000;
/** Causes of an error that are followed; real chains are shorter. */
export const ERROR_CAUSES_MAX_COUNT = 8;
