/** Owns the limits of keys in a transit engine: name, unit, default and why. */

/** Requests under way at once; more wait. */
export const REQUESTS_AT_ONCE = 32;
/** Attempts of one request, the first included. */
export const ATTEMPTS_MAX = 4;
/** Pause before the second attempt, in milliseconds; doubled before each further one, up to the greatest, and shortened at random. */
export const PAUSE_FIRST_MS = 100;
export const PAUSE_MAX_MS = 2_000;
/** How long a request may go without its whole answer, in milliseconds. The engine answers within a few. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** Largest file of a token, in bytes. */
export const TOKEN_FILE_MAX_BYTES = 65_536;
/** Longest text of a refusal that is passed on, in characters. */
export const SAID_MAX_CHARS = 500;
