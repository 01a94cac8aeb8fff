/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Period of the poll for workflows that wait for budget, in milliseconds. */
export const BUDGET_ROOM_PERIOD_MS = 1_000;
/** Period of the poll for work between parents and children, in milliseconds. */
export const CHILD_PERIOD_MS = 1_000;
/** Period of the poll for runs to continue, in milliseconds. */
export const CONTINUATION_PERIOD_MS = 1_000;
/** A lease that its living holder does not list for this long counts as lost, in milliseconds. */
export const GHOST_GRACE_MS = 2_000;
/**
 * Oldest polls that demand may rest on, in milliseconds; polls of each kind that must miss a workflow before it is dropped; and period of
 * the gauges, in milliseconds.
 */
export const DEMAND_STALE_MS = 15_000;
export const DEMAND_MISSES = 2;
export const DEMAND_REPORTED_PERIOD_MS = 2_000;
/**
 * Delay in milliseconds after which a starting coordinator begins its polls, except those of leases and dispatch: a store with one session
 * serves them in turn.
 */
export const POLLS_BEGIN_MS = 250;
/** Period of the check which workers live, in milliseconds. */
export const LEASE_CHECK_PERIOD_MS = 250;
/**
 * Period of the poll of all leases, in milliseconds. It finds lost leases, and claims that land after their writer's death; deaths
 * themselves are acted on at once.
 */
export const LEASE_POLL_PERIOD_MS = 1_000;
/** From 500 entries a second on they are gathered for longer and longer; rows lag by at most that much more (see `Gathering`). */
export const PROJECTION_GATHERING = { msPerEntry: 2, maxMs: 20 };
/** Period of the sweep of all end offsets, which finds lost hints, in milliseconds. */
export const SWEEP_PERIOD_MS = 5_000;
/** Time to live and renewal of a projector's ranges, in milliseconds. */
export const RANGE_TTL_MS = 5_000;
export const RANGE_RENEW_PERIOD_MS = 1_000;
/** Period of the sweep that enqueues runnable workflows again in case jobs were lost, in milliseconds; and workflows in one page. */
export const REDISPATCH_PERIOD_MS = 2_000;
export const REDISPATCH_PAGE_COUNT = 1_000;
/** Most workflows of one definition that one sweep sends again while as many jobs wait as could be lost. */
export const REDISPATCH_DOUBTED_COUNT = 500;
/** Period of the poll for due timers, in milliseconds, and timers in one page. */
export const TIMER_PERIOD_MS = 100;
export const TIMER_PAGE_COUNT = 500;
/** Most pages of one poll that have only timers which already fired or can't fire. */
export const TIMER_PAGES_MAX = 20;
/** A timer that fired fires again if rows still have it after this time, in milliseconds; the event is the same, and counts once. */
export const TIMER_REST_MS = 10_000;
/** First and longest pause before a failed write is retried, in milliseconds. */
export const TIMER_RETRY_MS = 100;
export const TIMER_RETRY_MAX_MS = 5_000;
/** Longest wait for writes before the next poll, in milliseconds. */
export const TIMER_PATIENCE_MS = 1_000;
/** A placement whose opening is not known to be in the log is appended again after this many milliseconds. */
export const UNAPPENDED_AGE_MS = 5_000;
/** A coordinator is not ready when more appended events than this are missing from its own partitions' rows. */
export const READY_LAG_MAX_EVENTS = 50_000;
/** How long a coordinator's measured lag counts, in milliseconds: a few sweeps. */
export const READY_LAG_KNOWN_MS = 3 * SWEEP_PERIOD_MS;
/** Workflows at which another release stopped, in one page. */
export const UNREADABLE_PAGE_COUNT = 1_000;
/** Workflows whose failed task may resume on a new build, in one page; and recently parked ones that are kept until they are decided. */
export const FAILED_TASKS_PAGE_COUNT = 500;
export const FAILED_TASKS_KEPT_MAX = 10_000;
/** Period of the count of parked workflows, in milliseconds; reasons that it reads; and reasons that it reports apart. */
export const PARKED_POLL_PERIOD_MS = 15_000;
export const PARKED_REASONS_READ_MAX = 1_000;
export const PARKED_REASONS_MAX = 20;
