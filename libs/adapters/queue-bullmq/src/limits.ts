/** Owns every limit of the Redis adapters: name, unit, default and why. Must not read the environment. */

export interface QueueLimits {
  /**
   * Jobs that one BullMQ job (a ticket) is good for, at most. BullMQ costs about 0.27 ms of processor time a job whatever
   * it says; see docs/decisions/0005-jobs-are-hints.md.
   */
  readonly jobsPerWakeupMax: number;
  /** A burst is spread over at least this many tickets, so that many workers share it. */
  readonly wakeupsPerBurstMin: number;
  /** Jobs that one ticket looks at, at most: those whose limits are reached wait aside, and cost their look. */
  readonly jobsPerDealMax: number;
  /** Jobs sent to Redis in one go, at most; the rest follows in the next. */
  readonly jobsPerFlushMax: number;
  /** Jobs that wait to be sent by this process, at most; beyond it `enqueue` throws `LimitError`. */
  readonly jobsPendingMax: number;
  /** How long a producer or a starting consumer waits for a connection before `UnavailableError`. */
  readonly connectTimeoutMs: number;
  /** How long one flush may take before `UnavailableError`; the connection is then opened anew. */
  readonly commandTimeoutMs: number;
  /** What runs under a limit counts against it for this long after its process was last seen. */
  readonly limitSlotTtlMs: number;
  /** Period of each consumer's look for what limits have freed: rates by time, and slots of the dead. */
  readonly limitSweepMs: number;
  /** A consumer whose last slots are kept looks this often for whom they are kept, when nothing tells it. */
  readonly newcomerLookMs: number;
  /** Jobs of each priority that such a look sees, at most: of each tenant that waits one is among the first. */
  readonly newcomersLookedAtMax: number;
  /** A ticket is in BullMQ's active list for two round trips only; when its taker dies just then, it returns after this. */
  readonly wakeupLockMs: number;
  /** Period of BullMQ's check for such tickets. */
  readonly stalledCheckMs: number;
  /** An idle consumer blocks in Redis for this long before it looks by itself (a lost wake-up costs this at most). */
  readonly idleBlockMs: number;
  /**
   * A connection that owes an answer for this long is dead (a network that swallows packets reports nothing) and is opened
   * anew. Must be greater than `idleBlockMs`.
   */
  readonly silenceMs: number;
  /** Pause of a consumer after an error of Redis that isn't a lost connection (out of memory, read-only). */
  readonly errorPauseMs: number;
  /** How long `close` and `pause` wait for answers of a server that may be away. */
  readonly closeWaitMs: number;
}

export const QUEUE_LIMITS: QueueLimits = {
  jobsPerWakeupMax: 32,
  wakeupsPerBurstMin: 32,
  jobsPerDealMax: 512,
  jobsPerFlushMax: 5_000,
  jobsPendingMax: 200_000,
  connectTimeoutMs: 5_000,
  commandTimeoutMs: 5_000,
  limitSlotTtlMs: 30_000,
  limitSweepMs: 1_000,
  newcomerLookMs: 1_000,
  newcomersLookedAtMax: 64,
  wakeupLockMs: 5_000,
  stalledCheckMs: 5_000,
  idleBlockMs: 5_000,
  silenceMs: 8_000,
  errorPauseMs: 250,
  closeWaitMs: 2_000,
};

/** Longest name of a definition in Redis keys, in characters; longer ones are cut and told apart by their digest. */
export const QUEUE_NAME_MAX_CHARS = 400;

/** First and greatest pause between two attempts to connect; doubles in between. */
export const RECONNECT_FIRST_MS = 25;
export const RECONNECT_MAX_MS = 1_000;

/** Partition numbers in one published hint; more go out as several messages. */
export const HINTED_PARTITIONS_PER_MESSAGE_MAX = 4_096;
/** Hints that come within so many milliseconds of a message go out together in the next: a message costs as much as the work it hints at. */
export const HINT_PERIOD_MS = 4;
/** Published messages without an answer; beyond it hints are dropped (the sweep makes up for them). */
export const HINT_MESSAGES_IN_FLIGHT_MAX = 1_024;
/** Messages to those who watch, without an answer; beyond it they are dropped. */
export const WATCH_MESSAGES_IN_FLIGHT_MAX = 4_096;
/** How long `subscribe` waits for the server; the subscription goes on in the background. */
export const SUBSCRIBE_WAIT_MS = 2_000;
/** A subscriber asks for a sign of life this often, since it would not notice a dead connection otherwise. */
export const BUS_HEARTBEAT_MS = 2_000;
/** And counts the connection as dead when none comes for this long. */
export const BUS_SILENCE_MS = 3_000;

/** How long a beat or a view waits for an answer before it counts as failed. */
export const LIVENESS_TIMEOUT_MS = 2_000;
/** The coordinators' marker outlives its last view by this many times `markerAgeMs`. */
export const MARKER_TTL_FACTOR = 4;
/** And for this long at least. */
export const MARKER_TTL_MIN_MS = 10_000;

/** A holder whose connection closed has this long to come back before it counts as gone, in milliseconds. */
export const PRESENCE_GRACE_MS = 50;
/** What a process sent to Redis before its end comes there at most this long after it, in milliseconds. */
export const PRESENCE_SLACK_MS = 25;
/** Longest line of the presence protocol, in bytes: a word, a token and a holder's name. */
export const PRESENCE_LINE_MAX_BYTES = 1_024;
/** Connections of workers that one coordinator takes. */
export const PRESENCE_CONNECTIONS_MAX = 10_000;
/**
 * Connections that haven't said their name yet, in all and from one remote address; beyond it the oldest makes room. A
 * thousand workers behind one address may come back at once.
 */
export const PRESENCE_STRANGERS_MAX = 4_096;
export const PRESENCE_STRANGERS_PER_ADDRESS_MAX = 2_048;
/** Connections that wait in the kernel to be accepted; it may allow fewer. */
export const PRESENCE_BACKLOG_COUNT = 4_096;
/** How long a connection may take to say its name, in milliseconds. */
export const PRESENCE_HELLO_MS = 2_000;
/** How long a farewell waits for the other side to close, in milliseconds. */
export const PRESENCE_FAREWELL_MS = 200;
/** Coordinators that a worker keeps connections to, at most. */
export const PRESENCE_COORDINATORS_MAX = 16;
/** A coordinator that hasn't looked for this long is not advertised any more, in milliseconds. */
export const PRESENCE_ADVERT_TTL_MS = 3_000;
/**
 * A coordinator's word, that it lives and which holders' connections closed, counts for this long, in milliseconds: four of
 * its looks. One that dies together with a worker delays the notice of that worker's end by no more than this.
 */
export const PRESENCE_WORD_TTL_MS = 1_000;
/** That a connection closed is remembered for this long, in milliseconds: longer than any beat of before it counts. */
export const PRESENCE_GONE_KEPT_MS = 30_000;
/** The kernel asks the other side for a sign of life after this much silence, in milliseconds. */
export const PRESENCE_KEEPALIVE_MS = 1_000;
