/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** How old, in milliseconds, what a process knows of paused queues may be; and the period of a coordinator's look at them. */
export const QUEUES_KNOWN_MS = 250;
export const QUEUES_PERIOD_MS = 1_000;
/** Queues that may be held, and that are listed, at once. */
export const QUEUES_HELD_MAX_COUNT = 1_000;
/** Ids that a preflight names as examples of a group or of a problem. */
export const PREFLIGHT_EXAMPLES_MAX_COUNT = 5;
/** Different problems that a preflight tells of one group; their number must not follow that of the workflows. */
export const PREFLIGHT_PROBLEMS_MAX_COUNT = 20;
/** Characters of a schedule's cron pattern. */
export const CRON_MAX_CHARS = 200;
/** Missed slots that a schedule may make up for. */
export const CATCH_UP_MAX_COUNT = 1_000;
/** Missed slots that are counted one by one; of more it is known that there are as many at least. */
export const SCHEDULE_SCAN_MAX_COUNT = 2_000;
/** A slot that begins within so many milliseconds is in time; later it is missed. */
export const SCHEDULE_GRACE_MS = 60_000;
/** Period of the look whether the run has ended that a slot waits for: first, and at most, in milliseconds. */
export const SCHEDULE_POLL_MIN_MS = 1_000;
export const SCHEDULE_POLL_MAX_MS = 60_000;
/** Workflows that a bulk job looks up in one go, and those that it asks at once. */
export const BULK_PAGE_COUNT = 200;
export const BULK_AT_ONCE_COUNT = 64;
/** Workflows that refused, of which a bulk job tells why. */
export const BULK_PROBLEMS_MAX_COUNT = 100;
