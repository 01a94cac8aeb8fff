/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Partitions that are fenced at once before they get rows. */
export const FENCES_AT_ONCE = 256;
/** Most records that are read to find out whether a partition has nothing but fences. */
export const FENCES_FOLDED_MAX = 16;
/** Most entries and bytes that one projection batch reads from the log. */
export const PROJECTION_ENTRIES_MAX = 8_192;
export const PROJECTION_READ_MAX_BYTES = 8_388_608;
/** Most partitions in one projection read. */
export const PROJECTION_PARTITIONS_MAX = 1_024;
/** Interrupted workflows whose recovery a projector times at once; beyond them, the oldest is dropped. */
export const RECOVERIES_TIMED_MAX = 10_000;
/** Folded partitions that a projector keeps in memory. */
export const FOLD_CACHE_PARTITIONS_MAX = 8_192;
/** Estimated size of a record beside its payload; and the widest gap between two wanted records that one read spans. */
export const RECORD_LIKELY_BYTES = 2 * 1024;
export const RECORDS_BETWEEN_MAX = 32;
