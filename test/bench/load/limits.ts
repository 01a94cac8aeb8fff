/** Owns every limit of `bench -- load`: name, unit, default. */

/** Ten times the expected load: live workflows, and checkpoints a second of all of them together. */
export const LIVE_DEFAULT = 1_000;
export const RATE_DEFAULT = 2_000;
export const MINUTES_DEFAULT = 60;
export const KILL_PERIOD_DEFAULT = '60s';
export const WORKERS_DEFAULT = 3;
export const COORDINATORS_DEFAULT = 2;
/** Steps of one workflow: from half of it to half as many again, at random. At 2 a second each, a workflow lives for a minute. */
export const STEPS_EACH = 120;
/** Bytes of text that each step leaves. */
export const STEP_BYTES = 1_024;
/** Every so many steps a workflow calls an effect outside; by turns an irreversible and an idempotent one. */
export const STEPS_PER_EFFECT = 20;
/** A step that could not begin in time is made up for, at twice the pace at most, and no more than so long, in milliseconds. */
export const MADE_UP_MAX_MS = 10_000;
/** Exclusive placement needs a partition for each live workflow; a 16th of a pool that can't grow is kept for other tenants. */
export const PARTITIONS_PER_LIVE = 1.28;

/** Starts a second while the load is built up, and how many wait for the client at once. */
export const RAMP_STARTS_PER_S = 100;
export const STARTING_MAX = 32;
/** Times that a start is tried, and the pause between two, in milliseconds. */
export const START_TRIES_MAX = 20;
export const START_RETRY_MS = 500;
/** After the last start of the ramp nothing is measured for so long, in milliseconds. */
export const SETTLE_MS = 15_000;
/** Period of the driver's look for room, and of its slower look at the rows of what should have ended; milliseconds. */
export const FILL_PERIOD_MS = 50;
export const ROWS_PERIOD_MS = 5_000;
/** After the load has ended, so long may pass without one more end, in milliseconds, before what is left counts as lost. */
export const FINISH_STALL_MAX_MS = 180_000;

/** A closed workflow stays in log and rows for so long: history is archived and trimmed all the time, as in production after a week. */
export const HOT = '60s';
/**
 * Size of a file of the broker's log. Only whole files below the trimmed offset leave the disk, and never the one that is written: at the
 * broker's default of 1 GB a partition of this run would never give anything back.
 */
export const BROKER_FILE_BYTES = 1_048_576;
/** The run ends early, and says so, when the memory file system or the machine has less than this left, in bytes. */
export const SHM_FREE_MIN_BYTES = 2 * 1024 ** 3;
export const MEMORY_AVAILABLE_MIN_BYTES = 1.5 * 1024 ** 3;

/** Period of a sample, in milliseconds; memory, processor time and sizes are in each tenth. */
export const SAMPLE_PERIOD_MS = 1_000;
export const SLOW_SAMPLE_EVERY = 5;
/** Longest wait for one process's metrics, in milliseconds. */
export const SCRAPE_MAX_MS = 900;
/** Partitions of which one sample looks how long their rows lag behind the log, the period of that look, and its longest wait; milliseconds. */
export const LAG_PARTITIONS = 64;
export const LAG_POLL_MS = 20;
export const LAG_MAX_MS = 30_000;
/** Period in which a worker tells the times of its steps, in milliseconds. */
export const NOTE_PERIOD_MS = 200;
export const PROGRESS_PERIOD_MS = 10_000;

/** Time for steps under way after SIGTERM, in milliseconds. */
export const DRAIN_MS = 5_000;
/** A sample within this time after a kill or a SIGTERM counts as disturbed, in milliseconds. */
export const DISTURBED_MS = 10_000;
/** Bytes of one read when every tier is read at the end. */
export const JUDGE_READ_MAX_BYTES = 4_194_304;
/** Workflows of which every row is compared with the log at the end, and those that are read at once. */
export const ROWS_COMPARED_MAX = 200;
export const ROWS_AT_ONCE = 8;
/** Cases of one kind that are told in full. */
export const ACCOUNTS_MAX = 5;
