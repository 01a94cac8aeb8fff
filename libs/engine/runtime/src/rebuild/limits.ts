/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Partitions that a rebuild folds before it takes away rows of what segments have. */
export const REBUILD_PARTITIONS_AT_ONCE = 256;
/** Longest that a rebuild keeps writers waiting to catch up with them, in milliseconds, and how often it tries. */
export const REBUILD_MEET_MAX_MS = 3_000;
export const REBUILD_MEETINGS_MAX = 20;
/** Pause between two looks at where new rows stand, in milliseconds: whoever wrote them may not have heard of it. */
export const REBUILD_POLL_MS = 500;
/** How often a rebuild begins anew since it found openings elsewhere than rows said. */
export const REBUILD_PLACINGS_MAX = 5;
