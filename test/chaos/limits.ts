/** Owns every limit of the chaos run: name, unit, default. */

/** Workflows that are live at once, unless the command says otherwise. */
export const LIVE_DEFAULT = 40;
/** Starts that wait for the client at once. */
export const STARTING_MAX = 8;
/** After the last fault a run is given up when no checkpoint and no end has come for so long, in milliseconds: a busy machine is slow, and what hangs stands still. */
export const STILL_MAX_MS = 120_000;
/** Period, in milliseconds, of the look at the rows that notes which checkpoints were acknowledged. */
export const RECORD_PERIOD_MS = 250;
/** Period of the progress line, in milliseconds. */
export const PROGRESS_PERIOD_MS = 10_000;
/** A killed process is started again after so long, in milliseconds: a replacement takes a moment. */
export const RESTART_DELAY_MS = 400;
/** Pause before a process that could not start is tried again, in milliseconds. */
export const RESTART_FAILED_DELAY_MS = 1_000;
/** A stopped process stands for longer than whoever would be stalled (5 s), in milliseconds. */
export const STOP_MIN_MS = 5_200;
export const STOP_MAX_MS = 9_000;
/** How long, in milliseconds, a link's fault lasts. */
export const LINK_FAULT_MIN_MS = 500;
export const LINK_FAULT_MAX_MS = 4_000;
/** Added to each chunk on a delayed link, in milliseconds. */
export const LINK_DELAY_MIN_MS = 30;
export const LINK_DELAY_MAX_MS = 400;
/** How long, in milliseconds, Postgres or the broker is away. */
export const SERVER_AWAY_MIN_MS = 200;
export const SERVER_AWAY_MAX_MS = 2_000;
/** Pauses between kills when nothing else is wrong, and between any two faults in a storm; milliseconds. */
export const CALM_PAUSE_MIN_MS = 2_200;
export const CALM_PAUSE_MAX_MS = 3_200;
export const STORM_PAUSE_MIN_MS = 400;
export const STORM_PAUSE_MAX_MS = 2_000;
/** How long, in milliseconds, a calm phase (kills alone) and a storm (every fault) last. */
export const CALM_MS = 22_000;
export const STORM_MS = 18_000;
/** A kill counts for resume times when nothing else was wrong for so long before it, in milliseconds. */
export const SETTLED_MS = 4_000;
/** How long, in milliseconds, after the end of a worker nothing else may go wrong for it to count. */
export const UNDISTURBED_MS = 2_000;
/** Take-overs that are told one by one when they took longer, in milliseconds, and how many at most. */
export const SLOW_RESUME_MS = 1_000;
export const SLOW_SHOWN_MAX = 5;
/** Time for steps under way after SIGTERM, in milliseconds; longer than the longest step. */
export const DRAIN_MS = 5_000;
/** A process that was asked to end and doesn't is killed after so long, in milliseconds. */
export const STOP_WAIT_MAX_MS = 30_000;

/** Time-out of one call to the ledger, in milliseconds. */
export const LEDGER_TIMEOUT_MS = 2_000;
/** Of a hundred thousand calls: applied but never answered, refused before anything was applied, applied late. */
export const LEDGER_SILENT_SHARE = 1_000;
export const LEDGER_REFUSED_SHARE = 1_500;
export const LEDGER_SLOW_SHARE = 3_000;
/** A receiver that never applies blindly loses its answer less often, since each one is a question to a person. */
export const LEDGER_BLIND_SILENT_SHARE = 100;
/** Longest delay before a slow call is applied, in milliseconds; well within the time-out. */
export const LEDGER_SLOW_MAX_MS = 500;
/** Period, in milliseconds, in which the scripted person looks for questions. */
export const PERSON_PERIOD_MS = 1_000;
/** Reads of the log after the run ask for so many bytes at once. */
export const LOG_READ_MAX_BYTES = 8_388_608;
/** How long, in milliseconds, the person waits before looking: longer than the call window and a call's time-out together. */
export const PERSON_WAIT_MS = 8_000;
/** How often a server is started again before the run gives it up. */
export const SERVER_STARTS_MAX = 3;
/** How long, in milliseconds, a process may take to be up again; beyond it the run goes on without. */
export const UP_AGAIN_MAX_MS = 120_000;
/** How long a worker lives that is killed again and again, in milliseconds. */
export const LIFE_MIN_MS = 3_000;
export const LIFE_MAX_MS = 9_000;
/** Children of the one parent of a run. */
export const CHILDREN_COUNT = 200;
/** Period, in milliseconds, in which what they ask is answered. */
export const FAMILY_PERIOD_MS = 500;
/** Distance of the schedule's slots, in milliseconds: whole seconds; and runs that it begins at the least, or the run proves nothing. */
export const SLOT_PERIOD_MS = 2_000;
export const SLOTS_MIN = 5;
