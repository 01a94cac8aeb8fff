/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Bytes of one read of the log by the compactor. */
export const COMPACTOR_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Segments in one page of the store's index. */
export const SEGMENTS_PAGE_COUNT = 500;
/** Times in a row that a read may find the log trimmed further than it saw before. */
export const READS_BETWEEN_TRIMS_MAX = 10;
