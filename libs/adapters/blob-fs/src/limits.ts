/** Owns the limits of the folders of blobs and of objects. */

/** Blobs or objects written or read at once; more wait. Bounds open files and memory. */
export const FILES_OPEN_MAX = 32;
/** Age after which a temporary file of another machine (a shared folder) certainly was left behind. */
export const FOREIGN_TEMPORARY_MAX_MS = 24 * 60 * 60 * 1_000;
/** Folders whose names are remembered as durable; any others are synced again. Blobs have 65,792. */
export const FOLDERS_KNOWN_MAX = 100_000;
/** Longest path below a folder that somebody named, in characters. */
export const NAME_MAX_CHARS = 1_000;
/** Longest part of it, in bytes: what file systems take. */
export const NAME_PART_MAX_BYTES = 255;
