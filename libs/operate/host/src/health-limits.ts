/** Owns the limits of health: how often a process reports, and how old a report may be. Milliseconds and counts. */

/** Period at which a process reports its health to the thread that answers probes. */
export const HEALTH_PERIOD_MS = 500;
/** Age of a report after which the process is not ready: as long as a worker's beat counts while its event loop is blocked. */
export const READY_SILENCE_MAX_MS = 5_000;
/** Age after which it is not live: its event loop is blocked, and others have long taken over its work. */
export const LIVE_SILENCE_MAX_MS = 60_000;
/** Period of the checks of log and store, and how old an answer may be. */
export const REACH_PERIOD_MS = 2_000;
export const REACH_KNOWN_MS = 10_000;
/** Time for which a service that others send requests to keeps answering after it is asked to end: nobody sends new ones then. */
export const LEAVE_NOTICE_MS = 2_000;
/** Longest probe. */
export const PROBE_MAX_MS = 5_000;
/** Connections at once; probes need one or two. */
export const PROBE_CONNECTIONS_MAX_COUNT = 32;
/** Pause before a thread that died is started again. */
export const HEALTH_RESTART_PAUSE_MS = 1_000;
/** Heap of the thread that answers, in MB. */
export const HEALTH_THREAD_HEAP_MB = 16;
