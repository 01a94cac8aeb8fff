/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Partitions that a rebuild folds before it drops rows of archived history. */
export const REBUILD_PARTITIONS_AT_ONCE = 256;
/** Longest time that a rebuild blocks writers to catch up with them, in milliseconds; and how often it tries. */
export const REBUILD_MEET_MAX_MS = 3_000;
export const REBUILD_MEETINGS_MAX = 20;
/** Period of the poll of the new rows' offsets, in milliseconds, because the answer to a write may be lost. */
export const REBUILD_POLL_MS = 500;
/** How often a rebuild restarts because it found openings elsewhere than rows said. */
export const REBUILD_PLACINGS_MAX = 5;
