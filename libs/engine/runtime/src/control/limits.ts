/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Oldest knowledge of paused queues that a process may act on, in milliseconds; and the period of a coordinator's poll. */
export const QUEUES_KNOWN_MS = 250;
export const QUEUES_PERIOD_MS = 1_000;
/** Queues that may be paused, and listed, at once. */
export const QUEUES_HELD_MAX_COUNT = 1_000;
/** Longest cron pattern of a schedule, in characters. */
export const CRON_MAX_CHARS = 200;
/** Most missed slots that a schedule may make up for. */
export const CATCH_UP_MAX_COUNT = 1_000;
/** Workflows that a bulk job reads in one page, and acts on at once. */
export const BULK_PAGE_COUNT = 200;
export const BULK_AT_ONCE_COUNT = 64;
