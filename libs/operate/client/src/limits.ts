/** Owns the client's bounds, with their units. */

/** Tries of one request in all, and the first pause between two, in milliseconds; each further pause is twice as long. */
export const TRIES_MAX_COUNT = 5;
export const PAUSE_FIRST_MS = 200;
export const PAUSE_MAX_MS = 5_000;
/** A try that has no answer by then counts as lost, in milliseconds. */
export const TRY_TIMEOUT_MS = 30_000;
/** How long one request waits for a result, in milliseconds; then it is asked again. */
export const RESULT_WAIT_MS = 15_000;
/** Longest pause between two connections of a stream, in milliseconds. */
export const FOLLOW_PAUSE_MAX_MS = 5_000;
/** A stream on which nothing has come for so long is connected again, in milliseconds; servers send heartbeats every 15 seconds. */
export const SILENCE_MAX_MS = 45_000;
