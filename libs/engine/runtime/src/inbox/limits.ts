/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** How long a request to a continued workflow waits for the next run to begin, in milliseconds. */
export const CONTINUATION_GRACE_MS = 5_000;
/** Most open approvals in one page. */
export const APPROVALS_PAGE_COUNT = 100;
/** How long a recent write may take to show in rows, in milliseconds: a workflow, and a token that is confirmed. */
export const WORKFLOW_GRACE_MS = 2_000;
export const TOKEN_GRACE_MS = 2_000;
/** How long a person's judgement of an unreadable record may take to show in rows, in milliseconds: then the workflow resumes. */
export const RECORD_JUDGED_GRACE_MS = 10_000;
/** Events of a workflow that are read to find an earlier decision. */
export const DECISION_EVENTS_MAX_COUNT = 10_000;
/** Starts in one placement request to the store. */
export const PLACE_BATCH_MAX = 500;
/** The pool of partitions doubles up to this size. */
export const PARTITIONS_MAX = 4_096;
/** Longest chain of forks that share one history: a read visits each of them. */
export const FORK_DEPTH_MAX = 32;
/** In a pool that can't grow, this share of its partitions, and at most so many, is reserved for tenants that have few. */
export const RESERVED_PARTITIONS_SHARE = 1 / 16;
export const RESERVED_PARTITIONS_MAX = 64;
/** Delay after which a start that was refused for lack of room may be retried, in milliseconds. */
export const ADMISSION_RETRY_AFTER_MS = 1_000;
