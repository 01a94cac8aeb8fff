/** Owns every limit that several rooms share: name, unit, default. Options that change one say so where they are read. */

/** Things that one task may wait for, any one of them; and how long a timer may take, in milliseconds: ten years. */
export const WAITS_PER_TASK_MAX = 16;
export const TIMER_MAX_MS = 10 * 366 * 86_400_000;
/** Looks at all that can run, or at all leases, rest so many times what they took, unless what they found were older than this, in milliseconds, at the end of the next. */
export const POLL_REST = 4;
export const POLL_AGE_MAX_MS = 10_000;
/** Back-off after a server was away: first and longest delay, in milliseconds. */
export const BACKOFF_FIRST_MS = 50;
export const BACKOFF_MAX_MS = 2_000;
/** Period of the report of the log's growth, in milliseconds. */
export const GROWTH_PERIOD_MS = 60_000;
/** A duty that hasn't moved for so long, in milliseconds, is given up: far more than the longest wait for a server that is away. */
export const DUTY_UNMOVED_MAX_MS = 600_000;
/** Causes of an error that are looked at: a longer chain is none that anyone made. */
export const ERROR_CAUSES_MAX_COUNT = 8;
