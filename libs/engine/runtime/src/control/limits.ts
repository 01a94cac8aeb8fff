/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Oldest knowledge of paused queues that a process may act on, in milliseconds; and the period of a coordinator's poll. */
export const QUEUES_KNOWN_MS = 250;
export const QUEUES_PERIOD_MS = 1_000;
/** Queues that may be paused, and listed, at once. */
export const QUEUES_HELD_MAX_COUNT = 1_000;
/** Example ids that a preflight gives for a group or a problem. */
export const PREFLIGHT_EXAMPLES_MAX_COUNT = 5;
/** Different problems that a preflight reports of one group, so that its size does not grow with the number of workflows. */
export const PREFLIGHT_PROBLEMS_MAX_COUNT = 20;
/** Longest cron pattern of a schedule, in characters. */
export const CRON_MAX_CHARS = 200;
/** Most missed slots that a schedule may make up for. */
export const CATCH_UP_MAX_COUNT = 1_000;
/** Missed slots that are counted one by one; beyond them the count is a lower bound. */
export const SCHEDULE_SCAN_MAX_COUNT = 2_000;
/** Time zones whose formats a process keeps. */
export const CLOCK_FORMATS_MAX_COUNT = 1_000;
/** A clock that is put forward and back again within less than a week shows no change here; no zone has done that for decades. */
export const CLOCK_CHANGE_STEP_MS = 7 * 86_400_000;
/** How far a clock is put forward or back at most: a whole day, where a zone changed its side of the date line. */
export const CLOCK_CHANGE_MAX_MS = 26 * 3_600_000;
/** A slot that starts within this many milliseconds is in time; later it counts as missed. */
export const SCHEDULE_GRACE_MS = 60_000;
/** First and longest period, in milliseconds, of the poll for the end of the run that a slot waits for. */
export const SCHEDULE_POLL_MIN_MS = 1_000;
export const SCHEDULE_POLL_MAX_MS = 60_000;
/** Workflows that a bulk job reads in one page, and acts on at once. */
export const BULK_PAGE_COUNT = 200;
export const BULK_AT_ONCE_COUNT = 64;
/** Refusals whose reasons a bulk job keeps. */
export const BULK_PROBLEMS_MAX_COUNT = 100;
