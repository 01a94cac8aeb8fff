/** Owns the limits of state in a repository. */

/** Bytes of a state's file; a larger one is refused, and nothing is changed. */
export const STATE_MAX_BYTES = 1024 * 1024;
export const NAME_MAX_CHARS = 64;
export const STAGES_MAX = 1_000;
/** How long, in milliseconds, another writer is waited for, and the pause between two looks at its lock. */
export const LOCK_WAIT_MS = 10_000;
export const LOCK_PAUSE_MS = 5;
export const LOCK_PAUSE_MAX_MS = 50;
/** How long, in milliseconds, a check may take when nothing else is said; then it has failed. */
export const CHECK_TIMEOUT_MS = 10 * 60 * 1_000;
/** How long, in milliseconds, a check that is ended may take to end by itself. */
export const CHECK_GRACE_MS = 2_000;
/** Of a check's output, its last lines are kept: this many, of this many characters each at most. */
export const CHECK_LINES_MAX = 20;
export const CHECK_LINE_MAX_CHARS = 400;
/** Conflicts that a state remembers for the report; the archive has all of them. */
export const CONFLICTS_KEPT_MAX = 20;
/** Problems of a file that are told one by one. */
export const PROBLEMS_REPORTED_MAX = 5;
