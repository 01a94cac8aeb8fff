/** Owns every limit of the upgrade run: name, unit, default. */

/** Of the log: each holds one live workflow. */
export const PARTITIONS = 64;
/** Checkpoints that are seen in each mixture of releases before the next process is replaced, and how long they may take, in milliseconds. */
export const PHASE_CHECKPOINTS_MIN = 10;
export const PHASE_MAX_MS = 60_000;
export const PHASE_PERIOD_MS = 50;
/** Period, in milliseconds, in which ended workflows are replaced by new ones. */
export const KEEP_UP_PERIOD_MS = 250;
/** How long, in milliseconds, everything may take to finish after the last replacement. */
export const STILL_MAX_MS = 60_000;
/** How long, in milliseconds, it may take until a process says that it lacks what was contracted. */
export const CONTROL_MAX_MS = 60_000;
/** Steps of a workflow that only paces, and by how much pauses are shorter than in a chaos run. */
export const PACE_MAX_COUNT = 20;
export const SHORTER = 4;
