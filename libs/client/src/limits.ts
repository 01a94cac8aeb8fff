/** Owns the client's bounds, with their units. */

/** Tries of one request in all, and the first pause between two, in milliseconds; each further pause is twice as long. */
export const TRIES_MAX_COUNT = 5;
export const PAUSE_FIRST_MS = 200;
export const PAUSE_MAX_MS = 5_000;
/** A try that has no answer by then counts as lost, in milliseconds. */
export const TRY_TIMEOUT_MS = 30_000;
/** How long one request waits for a result, in milliseconds; then it is asked again. */
export const RESULT_WAIT_MS = 15_000;
