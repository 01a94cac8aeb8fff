/** Owns the limits of the file view: name, unit, default. */

/** Most checkpoints of one run that are shown as files. */
export const CHECKPOINTS_MAX_COUNT = 20_000;
/** Checkpoints, events or tasks in one read. */
export const PAGE_COUNT = 500;
/** Events of one run beside its checkpoints, and pending tasks, that are read. */
export const EVENTS_READ_MAX_COUNT = 10_000;
export const TASKS_READ_MAX_COUNT = 1_000;
/** Characters of an action's result in the execution log. */
export const RESULT_MAX_CHARS = 200;
/** Steps whose effects are read one by one; beyond, all effects of the run are read, page by page. */
export const STEPS_READ_ALONE_COUNT = 5;
/** Effects of one run that are read, at most. */
export const EFFECTS_READ_MAX_COUNT = 100_000;
/** Earlier runs among which the last success is searched for. */
export const RUNS_READ_COUNT = 20;
/** Largest file that is read, in bytes. */
export const FILE_MAX_BYTES = 64 * 1024 * 1024;
/** Characters of a run's name in a path; longer ones are cut and distinguished by a digest. */
export const NAME_MAX_CHARS = 120;
/** Faults of one file that are named, and characters of the place of each; further ones are counted. */
export const ISSUES_REPORTED_MAX_COUNT = 20;
export const ISSUE_PLACE_MAX_CHARS = 200;
/** Period at which a mirror polls the folder, and without a hint the rows; milliseconds. */
export const POLL_PERIOD_MS = 500;
/** A mirror rests this many times as long as its last writing took, so that long runs are not written all the time. */
export const REST_FACTOR = 5;
/** Milliseconds for which an unreadable file must stay the same before it counts as corrupt: someone may be writing it. */
export const SETTLE_MS = 1_000;
/** Longest wait for another program's lock of a file, in milliseconds. */
export const LOCK_WAIT_MS = 10_000;
/** Hand-overs and keys from outside that the folder records as taken over. */
export const TAKEN_MAX_COUNT = 10_000;
/** Files whose last written content the folder records, and the characters of its digest. */
export const WRITTEN_MAX_COUNT = 50_000;
export const DIGEST_CHARS = 32;
/** Period at which a file that somebody seems to be writing is read again, in milliseconds. */
export const SETTLE_PERIOD_MS = 50;
/** Longest name of a record's source, in characters. */
export const SOURCE_MAX_CHARS = 200;
