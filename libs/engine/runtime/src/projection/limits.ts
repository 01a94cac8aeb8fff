/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Partitions whose log is fenced at once before they get rows. */
export const FENCES_AT_ONCE = 256;
/** Records that are looked through at most, to see whether fences are all that a partition holds. */
export const FENCES_FOLDED_MAX = 16;
/** Entries and bytes that one projection batch takes from the log at most. */
export const PROJECTION_ENTRIES_MAX = 8_192;
export const PROJECTION_READ_MAX_BYTES = 8_388_608;
/** Partitions named in one projection read at most. */
export const PROJECTION_PARTITIONS_MAX = 1_024;
/** Interrupted workflows whose recovery a projector times at once; beyond them the oldest is not timed. */
export const RECOVERIES_TIMED_MAX = 10_000;
/** Folded partitions that a projector keeps in memory. */
export const FOLD_CACHE_PARTITIONS_MAX = 8_192;
/** What a record is likely to take beside what it says; and records that are read with two that they lie between. */
export const RECORD_LIKELY_BYTES = 2 * 1024;
export const RECORDS_BETWEEN_MAX = 32;
