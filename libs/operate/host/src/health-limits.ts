/** Owns the limits of health: how often a process looks at itself, and how old what it knows may be. Milliseconds and counts. */

/** Period in which a process tells its health to the thread that answers probes. */
export const HEALTH_PERIOD_MS = 500;
/** Whoever has told nothing for so long is not ready: as long as a worker's beat counts while its event loop is blocked. */
export const READY_SILENCE_MAX_MS = 5_000;
/** And for so long, not live: its event loop stands still, and what a worker held has long been taken over by others. */
export const LIVE_SILENCE_MAX_MS = 60_000;
/** Period of the questions to log and store, and how old an answer may be. */
export const REACH_PERIOD_MS = 2_000;
export const REACH_KNOWN_MS = 10_000;
/** So long a service that others send requests to goes on answering when it is told to end: nobody sends it new ones then. */
export const LEAVE_NOTICE_MS = 2_000;
/** Time that one probe may take. */
export const PROBE_MAX_MS = 5_000;
/** Connections at once; probes need one or two. */
export const PROBE_CONNECTIONS_MAX_COUNT = 32;
/** Pause before a thread that died is started again. */
export const HEALTH_RESTART_PAUSE_MS = 1_000;
/** Heap of the thread that answers, in MB. */
export const HEALTH_THREAD_HEAP_MB = 16;
