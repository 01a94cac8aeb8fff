/**
 * Owns every limit that several rooms share: name, unit, default. Where an option overrides one, the code that reads the option says so.
 */

/** Most conditions that one task may wait for, any of which ends the wait; and the longest timer, in milliseconds: ten years. */
export const WAITS_PER_TASK_MAX = 16;
export const TIMER_MAX_MS = 10 * 366 * 86_400_000;
/** First and longest back-off while a server is unavailable, in milliseconds. */
export const BACKOFF_FIRST_MS = 50;
export const BACKOFF_MAX_MS = 2_000;
