/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Period of the look at them, in milliseconds. */
export const BUDGET_ROOM_PERIOD_MS = 1_000;
/** Period of the look at it, in milliseconds. */
export const CHILD_PERIOD_MS = 1_000;
/** Period of the look at them, in milliseconds. */
export const CONTINUATION_PERIOD_MS = 1_000;
/** A live holder that doesn't list a folded lease for this long is told to have lost it, in milliseconds. */
export const GHOST_GRACE_MS = 2_000;
/** How old, in milliseconds, what a coordinator last saw of the work may be; looks of both kinds that must miss a workflow before it counts no more; period of the gauges, in milliseconds. */
export const DEMAND_STALE_MS = 15_000;
export const DEMAND_MISSES = 2;
export const DEMAND_REPORTED_PERIOD_MS = 2_000;
/** A starting coordinator's looks, but for leases and dispatch, begin after this time, in milliseconds: a store with one session serves in turn. */
export const LOOKS_BEGIN_MS = 250;
/** Period of the coordinators' look at who lives, in milliseconds. */
export const LEASE_CHECK_PERIOD_MS = 250;
/** Of their look at all leases, in milliseconds: for ghosts, and for claims that land after their writer's death, which is acted on at once. */
export const LEASE_POLL_PERIOD_MS = 1_000;
/** From 500 entries a second on they are gathered for longer and longer; rows are so much later at most (see `Gathering`). */
export const PROJECTION_GATHERING = { msPerEntry: 2, maxMs: 20 };
/** Slow sweep of all end offsets, which catches lost hints; milliseconds. */
export const SWEEP_PERIOD_MS = 5_000;
/** Time to live and renewal of a projector's ranges, in milliseconds. */
export const RANGE_TTL_MS = 5_000;
export const RANGE_RENEW_PERIOD_MS = 1_000;
/** Sweep that enqueues runnable workflows again, in case jobs were lost; milliseconds, and how many at once. */
export const REDISPATCH_PERIOD_MS = 2_000;
export const REDISPATCH_PAGE_COUNT = 1_000;
/** Of one definition, sent again by one sweep at most while as many jobs wait as could be lost. */
export const REDISPATCH_DOUBTED_COUNT = 500;
/** Period of the look for due timers, in milliseconds, and how many at once. */
export const TIMER_PERIOD_MS = 100;
export const TIMER_PAGE_COUNT = 500;
/** Pages of one look that hold nothing but what was fired already or can't be. */
export const TIMER_PAGES_MAX = 20;
/** What was fired is fired again where rows still have it after this time; events are the same, and count once. */
export const TIMER_REST_MS = 10_000;
/** First and longest pause before what could not be written is tried again, in milliseconds. */
export const TIMER_RETRY_MS = 100;
export const TIMER_RETRY_MAX_MS = 5_000;
/** Longest wait for writes before the next look, in milliseconds. */
export const TIMER_PATIENCE_MS = 1_000;
/** A placement whose opening isn't known to be in the log is appended again after this many milliseconds. */
export const UNAPPENDED_AGE_MS = 5_000;
/** A coordinator with more appended events than these that its own partitions' rows don't show is not ready. */
export const READY_LAG_MAX_EVENTS = 50_000;
/** What a coordinator knows of its lag counts for so long, in milliseconds: a few sweeps. */
export const READY_LAG_KNOWN_MS = 3 * SWEEP_PERIOD_MS;
/** Workflows at which another release stopped, in one page of a look for them. */
export const PASSED_OVER_PAGE_COUNT = 1_000;
/** Workflows of one page of a look for those whose task may go on on a new build, and of those that just parked, kept until they are decided. */
export const FAILED_TASKS_PAGE_COUNT = 500;
export const FAILED_TASKS_KEPT_MAX = 10_000;
/** Period of a coordinator's count of what waits for a person, in milliseconds; so many reasons are asked for, and so many told apart. */
export const PARKED_POLL_PERIOD_MS = 15_000;
export const PARKED_REASONS_READ_MAX = 1_000;
export const PARKED_REASONS_MAX = 20;
