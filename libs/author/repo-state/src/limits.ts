/** Owns the limits of state in a repository. */

/** Bytes of a state's file; a larger one is refused, and nothing is changed. */
export const STATE_MAX_BYTES = 1024 * 1024;
export const NAME_MAX_CHARS = 64;
export const STAGES_MAX = 1_000;
/** Longest wait for another writer, in milliseconds, and the pause between two polls of its lock. */
export const LOCK_WAIT_MS = 10_000;
export const LOCK_PAUSE_MS = 5;
export const LOCK_PAUSE_MAX_MS = 50;
/** Default time of a check, in milliseconds, after which it has failed. */
export const CHECK_TIMEOUT_MS = 10 * 60 * 1_000;
