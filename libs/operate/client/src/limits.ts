/** Owns the client's bounds, with their units. */

/** Attempts of one request in all, and the first pause between two, in milliseconds; each further pause is twice as long. */
export const TRIES_MAX_COUNT = 5;
export const PAUSE_FIRST_MS = 200;
export const PAUSE_MAX_MS = 5_000;
