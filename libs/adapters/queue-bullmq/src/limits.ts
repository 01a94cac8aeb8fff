/** Owns every limit of the Redis adapters: name, unit, default and why. Must not read the environment. */

export const QUEUE_LIMITS = {
  /**
   * Most jobs that one BullMQ job (a wake-up) stands for. BullMQ costs about 0.27 ms of processor time per job whatever it says; see
   * docs/decisions/0005-jobs-are-hints.md.
   */
  jobsPerWakeupMax: 32,
  /** Fewest wake-ups over which a burst is spread, so that many workers share it. */
  wakeupsPerBurstMin: 32,
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

/** Longest name of a definition in Redis keys, in characters; longer ones are cut and distinguished by their digest. */
export const QUEUE_NAME_MAX_CHARS = 400;

/** First and greatest pause between two attempts to connect; doubles in between. */
export const RECONNECT_FIRST_MS = 25;
export const RECONNECT_MAX_MS = 1_000;

/** Partition numbers in one published hint; more go out as several messages. */
export const HINTED_PARTITIONS_PER_MESSAGE_MAX = 4_096;
/** Milliseconds after a message in which hints are collected for the next: a message costs as much as the work it hints at. */
export const HINT_PERIOD_MS = 4;
/** Published messages without an answer; beyond it hints are dropped (the sweep makes up for them). */
export const HINT_MESSAGES_IN_FLIGHT_MAX = 1_024;
/** Messages to watchers without an answer; beyond it they are dropped. */
export const WATCH_MESSAGES_IN_FLIGHT_MAX = 4_096;
/** Longest wait of `subscribe` for the server; the subscription continues in the background. */
export const SUBSCRIBE_WAIT_MS = 2_000;
/** Period at which a subscriber pings the server, since it would not notice a dead connection otherwise. */
export const BUS_HEARTBEAT_MS = 2_000;
/** Silence after which it counts the connection as dead. */
export const BUS_SILENCE_MS = 3_000;

/** Longest wait of a beat or a view for an answer before it counts as failed. */
export const LIVENESS_TIMEOUT_MS = 2_000;
/** The coordinators' marker outlives its last view by this many times `markerAgeMs`. */
export const MARKER_TTL_FACTOR = 4;
/** Shortest time that the marker outlives its last view. */
export const MARKER_TTL_MIN_MS = 10_000;

/** Time that a holder has to reconnect before it counts as gone, in milliseconds. */
export const PRESENCE_GRACE_MS = 50;
/** Longest time after a process's end at which something that it sent still reaches Redis, in milliseconds. */
export const PRESENCE_SLACK_MS = 25;
/** Longest line of the presence protocol, in bytes: a word, a token and a holder's name. */
export const PRESENCE_LINE_MAX_BYTES = 1_024;
/** Connections of workers that one coordinator takes. */
export const PRESENCE_CONNECTIONS_MAX = 10_000;
/**
 * Most connections without a name, in all and from one remote address; beyond it the oldest is closed. A thousand workers behind one
 * address may come back at once.
 */
export const PRESENCE_UNAUTHENTICATED_MAX = 4_096;
export const PRESENCE_UNAUTHENTICATED_PER_ADDRESS_MAX = 2_048;
/** Connections that wait in the kernel to be accepted; it may allow fewer. */
export const PRESENCE_BACKLOG_COUNT = 4_096;
/** How long a connection may take to say its name, in milliseconds. */
export const PRESENCE_HELLO_MS = 2_000;
/** How long a farewell waits for the other side to close, in milliseconds. */
export const PRESENCE_FAREWELL_MS = 200;
/** Coordinators that a worker keeps connections to, at most. */
export const PRESENCE_COORDINATORS_MAX = 16;
/** Time without a poll after which a coordinator is not advertised any more, in milliseconds. */
export const PRESENCE_ADVERT_TTL_MS = 3_000;
/**
 * Time for which a coordinator's report, that it lives and which holders' connections closed, counts, in milliseconds: four of its polls. A
 * coordinator that dies together with a worker delays the notice of that worker's end by no more than this.
 */
export const PRESENCE_WORD_TTL_MS = 1_000;
/** Time for which a closed connection is remembered, in milliseconds: longer than any earlier beat counts. */
export const PRESENCE_GONE_KEPT_MS = 30_000;
/** Holders whose end is remembered, at most: a lease may show in rows long after it. */
export const PRESENCE_ENDED_MAX = 10_000;
/** Silence after which the kernel probes the other side, in milliseconds. */
export const PRESENCE_KEEPALIVE_MS = 1_000;
