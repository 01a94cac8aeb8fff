/** Owns the limits that several files of the command line share: name, unit, default. */

/** Workflows that `ls` shows by default, and at most. */
export const LIST_DEFAULT_COUNT = 20;
export const LIST_MAX_COUNT = 10_000;
/** Things in one page of a list that is read page by page. */
export const PAGE_COUNT = 200;
/** Approvals, or questions, in one page: the API answers no more. */
export const WAITING_PAGE_COUNT = 100;
/** Pending tasks that `show` lists without `--tasks`, and reads at most. */
export const TASKS_SHOWN_COUNT = 12;
export const TASKS_READ_MAX = 10_000;

/** Time, in milliseconds, that steps under way have after Ctrl-C. */
export const DRAIN_MS = 5_000;
/** How long, in milliseconds, a command waits for a folder that one and the same process holds without answering. */
export const FOLDER_WAIT_MS = 5_000;
/** How long, in milliseconds, it waits at most while others hold or open the folder in turn; and after which a turn that isn't touched is over. */
export const TURNS_WAIT_MS = 60_000;
export const TURN_STALE_MS = 10_000;
/** Poll interval for a process that begins, or ends, to hold a folder, in milliseconds. */
export const HOLDER_POLL_MS = 250;
/** How long, in milliseconds, steps wait at most for the mirrors of a folder to take what others wrote while nobody held it. */
export const MIRRORS_WAIT_MS = 30_000;
/** How long, in milliseconds, `run` waits at its end for the mirrors of the folder that it held to have it. */
export const MIRRORS_END_MS = 10_000;
/** Pause between two attempts or polls while waiting for something that gives no sign, in milliseconds. */
export const RETRY_PAUSE_MS = 50;

/** A context's name. */
export const CONTEXT_NAME = /^[\w.-]{1,100}$/;

/** Poll interval for a watched job, and for the fleet on a terminal, in milliseconds. */
export const JOB_POLL_MS = 500;
export const FLEET_POLL_MS = 1_000;
/** Longest text of a filter or a name on the command line, in characters. */
export const NAME_MAX_CHARS = 200;
/** How long, in milliseconds, `migrate --wait` waits by default, and the pause between two attempts. */
export const MIGRATE_WAIT_MS = 300_000;
export const MIGRATE_AGAIN_MS = 1_000;
