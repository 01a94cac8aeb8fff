/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** How long a recent write may take to show in rows, in milliseconds: a workflow, and a token that is confirmed. */
export const WORKFLOW_GRACE_MS = 2_000;
export const TOKEN_GRACE_MS = 2_000;
/** Events of a workflow that are read to find an earlier decision. */
export const DECISION_EVENTS_MAX_COUNT = 10_000;
/** Starts in one placement request to the store. */
export const PLACE_BATCH_MAX = 500;
/** Longest chain of forks that share one history: a read visits each of them. */
export const FORK_DEPTH_MAX = 32;
