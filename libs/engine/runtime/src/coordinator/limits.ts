/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/**
 * Oldest polls that demand may rest on, in milliseconds; polls of each kind that must miss a workflow before it is dropped; and period of
 * the gauges, in milliseconds.
 */
export const DEMAND_STALE_MS = 15_000;
export const DEMAND_MISSES = 2;
export const DEMAND_REPORTED_PERIOD_MS = 2_000;
/** Entries are gathered for so long, since a batch costs about the same for one as for ten; rows lag by at most that much more (see `Gathering`). */
export const PROJECTION_GATHERING = { msPerEntry: 8, maxMs: 12 };
/** Time to live and renewal of a projector's ranges, in milliseconds. */
export const RANGE_TTL_MS = 5_000;
export const RANGE_RENEW_PERIOD_MS = 1_000;
/** Period of the sweep that enqueues runnable workflows again in case jobs were lost, in milliseconds; and workflows in one page. */
export const REDISPATCH_PERIOD_MS = 2_000;
export const REDISPATCH_PAGE_COUNT = 1_000;
/** Period of the poll for due timers, in milliseconds, and timers in one page. */
export const TIMER_PERIOD_MS = 100;
export const TIMER_PAGE_COUNT = 500;
/** Period of the count of parked workflows, in milliseconds; reasons that it reads; and reasons that it reports apart. */
export const PARKED_POLL_PERIOD_MS = 15_000;
export const PARKED_REASONS_READ_MAX = 1_000;
export const PARKED_REASONS_MAX = 20;
