/** Owns every limit of the run that kills compactors: name, unit, default. */

/** Kills, unless the command says otherwise, and workflows alive at once. */
export const KILLS_DEFAULT = 1_000;
export const COMPACTOR_LIVE_DEFAULT = 10;
/** Compactors that do the same work at once. */
export const COMPACTORS = 2;
/** Few, so that each has much history. */
export const COMPACTOR_PARTITIONS = 16;
/** How long a workflow that has closed stays hot, in milliseconds. */
export const CHAOS_HOT_MS = 300;
/** Raw bytes at which a segment is worth its object, and at which it ends: small, so that there are many steps to die between. */
export const CHAOS_SEGMENT_MIN_BYTES = 16_000;
export const CHAOS_SEGMENT_MAX_BYTES = 24_000;
/** What is smaller waits so long at most, in milliseconds. */
export const CHAOS_SEGMENT_WAIT_MS = 2_000;
/** Pause between two passes, in milliseconds. */
export const CHAOS_PERIOD_MS = 40;
/** Time to live of a compactor's ranges, in milliseconds: a dead one's are soon another's, and now and then two have the same. */
export const CHAOS_RANGE_TTL_MS = 250;
/** Of a hundred lives, so many end while the process is starting, which takes about so long, in milliseconds. */
export const COMPACTOR_START_KILLS_PERCENT = 8;
export const COMPACTOR_START_MS = 700;
/** Of a hundred others, so many end in a step that leaves something half done, in the how manieth of them at most. */
export const STEP_KILLS_PERCENT = 50;
export const HALF_DONE_STEPS_MAX = 4;
/** The others end after so many steps of any kind at most; of a hundred of them, so many have more. */
export const STEPS_MAX = 80;
export const MANY_STEPS_PERCENT = 20;
export const MANY_STEPS_MAX = 600;
/** Longest time from the beginning of that step to the kill, and from the start to a kill whatever was told, in milliseconds. */
export const KILL_DELAY_MAX_MS = 12;
export const LIFE_MAX_MS = 6_000;
/** Kills for each time that something else goes wrong as well; once at least. */
export const KILLS_PER_DROP = 250;
export const KILLS_PER_PAUSE = 100;
export const KILLS_PER_COORDINATOR_KILL = 100;
/** How long the object store stands still, in milliseconds. */
export const OBJECTS_PAUSE_MIN_MS = 500;
export const OBJECTS_PAUSE_MAX_MS = 5_000;
/** Period, in milliseconds, in which the witness tells how far it has come. */
export const WITNESS_PERIOD_MS = 20;
/** How long the witness may take to see all that is in the log, in milliseconds. */
export const WITNESS_WAIT_MS = 60_000;
/** Bytes of one read when everything is read through all tiers. */
export const TIERS_READ_MAX_BYTES = 4_194_304;
/** Archived workflows whose rows are put back and compared with those of a fresh fold. */
export const RESTORED_SAMPLE_COUNT = 40;
/** How long rows of all history may take to be rebuilt, in milliseconds. */
export const FRESH_ROWS_WAIT_MS = 600_000;
