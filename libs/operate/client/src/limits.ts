/** Owns the client's bounds, with their units. */

/** Attempts of one request in all, and the first pause between two, in milliseconds; each further pause is twice as long. */
export const TRIES_MAX_COUNT = 5;
export const PAUSE_FIRST_MS = 200;
export const PAUSE_MAX_MS = 5_000;
/** Time after which an attempt without an answer counts as lost, in milliseconds. */
export const TRY_TIMEOUT_MS = 30_000;
/** Longest wait of one request for a result, in milliseconds; then the client repeats it. */
export const RESULT_WAIT_MS = 15_000;
/** Longest pause between two connections of a stream, in milliseconds. */
export const FOLLOW_PAUSE_MAX_MS = 5_000;
/** Silence after which a stream reconnects, in milliseconds; servers send heartbeats every 15 seconds. */
export const SILENCE_MAX_MS = 45_000;
