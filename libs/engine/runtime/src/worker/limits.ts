/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Entries of long-term memory that one read answers when it doesn't say. */
export const MEMORIES_READ_DEFAULT_COUNT = 100;
/** Entries that a step's recall answers when it doesn't say, and at most; and subjects that it may name. */
export const RECALLED_DEFAULT_COUNT = 3;
export const RECALLED_MAX_COUNT = 50;
export const RECALLED_SUBJECTS_MAX_COUNT = 16;
/**
 * Period of a worker's beat; how long it counts, and how long while the worker has a standing connection with a coordinator
 * (its event loop is blocked then, or it was stopped); how long the coordinators' marker must have stood. Milliseconds.
 */
export const BEAT_PERIOD_MS = 250;
export const BEAT_TTL_MS = 1_000;
export const BEAT_STALL_MS = 5_000;
export const MARKER_AGE_MS = 2 * BEAT_PERIOD_MS;
/** How long, in milliseconds, a stopping worker waits for its leases to be let go after its drain budget. */
export const HAND_OVER_MAX_MS = 2_000;
/** Workflows whose rows one read at a claim covers at most. */
export const CLAIM_BATCH_MAX = 256;
