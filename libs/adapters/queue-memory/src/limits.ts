/** Owns the limits of the in-process adapters. */

/** Jobs that wait in one queue, over all definitions; beyond it `enqueue` throws `LimitError`. */
export const WAITING_JOBS_MAX = 1_000_000;
