/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Default number of entries that a read of long-term memory returns. */
export const MEMORIES_READ_DEFAULT_COUNT = 100;
/** Entries that a step's recall returns by default, and at most; and the most subjects that it may name. */
export const RECALLED_DEFAULT_COUNT = 3;
export const RECALLED_MAX_COUNT = 50;
export const RECALLED_SUBJECTS_MAX_COUNT = 16;
/**
 * Period of a worker's heartbeat; how long a heartbeat counts; how long it counts while the worker is still connected to a coordinator (its
 * event loop is blocked, or the process was stopped); and the age that the coordinators' marker must have. Milliseconds.
 */
export const BEAT_PERIOD_MS = 250;
export const BEAT_TTL_MS = 1_000;
export const BEAT_STALL_MS = 5_000;
export const MARKER_AGE_MS = 2 * BEAT_PERIOD_MS;
/** How long a stopping worker waits for the release of its leases after its drain budget, in milliseconds. */
export const HAND_OVER_MAX_MS = 2_000;
/** Most workflows whose rows one read at a claim covers. */
export const CLAIM_BATCH_MAX = 256;
