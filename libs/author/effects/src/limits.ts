/** Owns the library's named limits and defaults, each with its unit. Must hold no behaviour. */

/** Characters of a message by the outside (a database, a network stack) that an error shows. */
export const REASON_MAX_CHARS = 500;
