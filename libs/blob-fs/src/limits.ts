/** Owns the limits of the folder of blobs. */

/** Blobs written or read at once; more wait. Bounds open files and memory. */
export const FILES_OPEN_MAX = 32;
/** A temporary file of another machine (a shared folder) is left behind for sure when it is older than this. */
export const FOREIGN_TEMPORARY_MAX_MS = 24 * 60 * 60 * 1_000;
