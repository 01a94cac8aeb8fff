/** Owns the limits that several files of the Redis adapters share: name, unit, default and why. Must not read the environment. */

export const QUEUE_LIMITS = {
  /**
   * Most jobs that one BullMQ job (a wake-up) stands for. BullMQ costs about 0.27 ms of processor time per job whatever it says; see
   * docs/decisions/0005-jobs-are-hints.md.
   */
  jobsPerWakeupMax: 128,
  /** Fewest wake-ups over which a burst is spread, so that several workers share it. One that takes them all takes them one by one. */
  wakeupsPerBurstMin: 8,
  /** Most jobs that one wake-up reads: those whose limits are reached wait aside, and cost their read. */
  jobsPerDealMax: 512,
  /** Most jobs sent to Redis in one go; the rest follows in the next. */
  jobsPerFlushMax: 5_000,
  /** Most jobs that wait to be sent by this process; beyond it `enqueue` throws `LimitError`. */
  jobsPendingMax: 200_000,
  /** How long a producer or a starting consumer waits for a connection before `UnavailableError`. */
  connectTimeoutMs: 5_000,
  /** Longest flush before `UnavailableError`; the connection is then reopened. */
  commandTimeoutMs: 5_000,
  /** Time for which a job counts against its limit after its process was last seen. */
  limitSlotTtlMs: 30_000,
  /** Period at which each consumer sweeps what limits have freed: rates by time, and slots of the dead. */
  limitSweepMs: 1_000,
  /** Period at which a consumer whose last slots are reserved polls for jobs that may use them, when none is reported. */
  reservePollMs: 1_000,
  /** Most jobs of each priority that such a poll reads: one of each waiting tenant is among the first. */
  reserveReadMax: 64,
  /** A wake-up is in BullMQ's active list for two round trips only; when its taker dies just then, it returns after this. */
  wakeupLockMs: 5_000,
  /** Period of BullMQ's check for such wake-ups. */
  stalledCheckMs: 5_000,
  /** Time for which an idle consumer blocks in Redis before it polls by itself (a lost wake-up costs this at most). */
  idleBlockMs: 5_000,
  /**
   * Time without an owed answer after which a connection counts as dead (a network that swallows packets reports nothing) and is reopened.
   * Must be greater than `idleBlockMs`.
   */
  silenceMs: 8_000,
  /** Pause of a consumer after an error of Redis that isn't a lost connection (out of memory, read-only). */
  errorPauseMs: 250,
  /** How long `close` and `pause` wait for answers of a server that may be away. */
  closeWaitMs: 2_000,
};

export type QueueLimits = Readonly<typeof QUEUE_LIMITS>;

/** First and greatest pause between two attempts to connect; doubles in between. */
export const RECONNECT_FIRST_MS = 25;
export const RECONNECT_MAX_MS = 1_000;

/** How long a connection may take to say its name, in milliseconds. */
export const PRESENCE_HELLO_MS = 2_000;
/** Silence after which the kernel probes the other side, in milliseconds. */
export const PRESENCE_KEEPALIVE_MS = 1_000;
