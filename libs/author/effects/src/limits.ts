/** Owns the limits and defaults that several files share, each with its unit. Must hold no behaviour. */

/** Characters of a message by the outside (a database, a network stack) that an error shows. */
export const REASON_MAX_CHARS = 500;
