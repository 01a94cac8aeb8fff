/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/**
 * Work between parents and children: how much one poll serves in all, and at once; first and longest delay before it is served again, in
 * milliseconds, which doubles for failures; and most pages in which a poll searches for something due.
 */
export const CHILD_WORK_COUNT = 2_000;
export const CHILD_WORK_AT_ONCE = 32;
export const CHILD_WORK_RETRY_MS = 2_000;
export const CHILD_WORK_RETRY_MAX_MS = 60_000;
export const CHILD_WORK_PAGES_MAX = 10;
/** Workflows to continue: how many one page has, how many pages one poll reads, and how many are served at once. */
export const CONTINUATIONS_PAGE_COUNT = 500;
export const CONTINUATION_PAGES_MAX = 20;
export const CONTINUATIONS_AT_ONCE = 16;
/** First and longest delay before a failed continuation is retried, in milliseconds. */
export const CONTINUATION_RETRY_MS = 1_000;
export const CONTINUATION_RETRY_MAX_MS = 60_000;
/**
 * Period of the poll for workflows to compensate, in milliseconds, which finds those that applied rows didn't show; and how many one poll
 * reads.
 */
export const COMPENSATION_PERIOD_MS = 5_000;
export const COMPENSATING_MAX_COUNT = 10_000;
/** A running undo is polled again after this many milliseconds, unless rows show its end before. */
export const UNDO_POLL_PERIOD_MS = 10_000;
/** Items that one plan adds to an undo; and uncompensated items that the undo lists. */
export const UNDO_PAGE_COUNT = 200;
export const UNCOMPENSATED_MAX_COUNT = 1_000;
/** Longest time that compensating a step may take, in milliseconds; effects have their own limit. */
export const STEP_UNDO_TIMEOUT_MS = 60_000;
