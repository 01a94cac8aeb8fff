/** Owns the limits that several files of this library share, with units and defaults. */

/** Characters of a text that are embedded; models read less. */
export const EMBEDDED_MAX_CHARS = 20_000;
/** Entries that one list returns. */
export const LIST_MAX = 1_000;
