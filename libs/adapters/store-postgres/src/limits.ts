/** Owns the limits that several files of this library share, with units and defaults. */

/** Longest wait for a script: a migration of large tables. */
export const SCRIPT_TIMEOUT_MS = 3_600_000;
/** Longest start of PGlite, including the creation of its folder. */
export const PGLITE_START_TIMEOUT_MS = 120_000;
