/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** How long who speaks to one that goes on waits for the next, in milliseconds. */
export const CONTINUATION_GRACE_MS = 5_000;
/** Open approvals in one page, at most. */
export const APPROVALS_PAGE_COUNT = 100;
/** How long what was written a moment ago may take to show in the rows: a workflow, a token that is confirmed; milliseconds. */
export const WORKFLOW_GRACE_MS = 2_000;
export const TOKEN_GRACE_MS = 2_000;
/** The same of what a person says of a record that can't be read, whose workflow then goes on. */
export const RECORD_JUDGED_GRACE_MS = 10_000;
/** Events of a workflow that are read to find out what was decided before. */
export const DECISION_EVENTS_MAX_COUNT = 10_000;
/** Starts that go to the store in one placement. */
export const PLACE_BATCH_MAX = 500;
/** The pool of partitions grows by doubling up to this many. */
export const PARTITIONS_MAX = 4_096;
/** Forks of forks that share one history: a read of it asks for each. */
export const FORK_DEPTH_MAX = 32;
/** In a pool that can't grow, this share of its partitions, and at most so many, are for tenants that have few. */
export const NEWCOMER_PARTITIONS_SHARE = 1 / 16;
export const NEWCOMER_PARTITIONS_MAX = 64;
/** When one whose start was refused for want of room may try again, in milliseconds. */
export const ADMISSION_RETRY_AFTER_MS = 1_000;
