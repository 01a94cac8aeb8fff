/** Owns every limit of log-kafka, with its unit and its default. Must not hold anything that is not a number. */

export interface KafkaLogLimits {
  /** Largest value of one record. Larger things are blobs, named by an event. */
  readonly recordMaxBytes: number;
  /** Largest batch of one partition in one request, and so the largest single `append`; the topic's `max.message.bytes`. */
  readonly batchMaxBytes: number;
  /** An append request is closed when it holds so many bytes (one batch always fits). */
  readonly requestMaxBytes: number;
  /** An append request is closed when it holds so many records (one append always fits). */
  readonly requestMaxRecords: number;
  /** Requests leave so many milliseconds apart at least where many workflows append: each costs the broker as much as several records. */
  readonly gatherMs: number;
  /** Many: so many different partitions within the window. */
  readonly gatherPartitionsMin: number;
  /** The window, in milliseconds. */
  readonly spreadWindowMs: number;
  /** Appends waiting to be sent, in bytes; more are refused with `append-queue-full`. */
  readonly pendingMaxBytes: number;
  /** How long a broker may wait for replicas before it answers an append with a time-out. */
  readonly appendTimeoutMs: number;
  /** What the client waits beyond `appendTimeoutMs` before it drops the connection and sends the same bytes again. */
  readonly appendGraceMs: number;
  /** First and longest pause before the same bytes are sent again; doubled in between. */
  readonly resendMinMs: number;
  readonly resendMaxMs: number;
  /** An append fails for good when the cluster has denied for so long that the topic exists. */
  readonly topicMissingMs: number;
  /** One fetch, list of offsets, or question for metadata. */
  readonly readTimeoutMs: number;
  /** A read is tried again for so long while brokers are away or leaders move, then throws `log-unavailable`. */
  readonly readRetryMs: number;
  /** Values returned by one `read` that names no `maxBytes`. */
  readonly readMaxBytes: number;
  /** Setting up one connection, TLS included. */
  readonly connectTimeoutMs: number;
  /** After a connection was refused the next attempt waits so long; until then requests fail at once. */
  readonly reconnectMs: number;
  /** `openKafkaLog` gives up after so long without an answer from any broker. */
  readonly openTimeoutMs: number;
  /** Creating or growing the topic, until every partition has a leader. */
  readonly administrationTimeoutMs: number;
  /** `close` waits so long for appends under way, then lets go of them. */
  readonly closeTimeoutMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const defaultLimits: KafkaLogLimits = {
  recordMaxBytes: 4 * MIB,
  batchMaxBytes: 8 * MIB,
  requestMaxBytes: 2 * MIB,
  requestMaxRecords: 1_000,
  gatherMs: 4,
  gatherPartitionsMin: 8,
  spreadWindowMs: 20,
  pendingMaxBytes: 256 * MIB,
  appendTimeoutMs: 2_000,
  appendGraceMs: 500,
  resendMinMs: 20,
  resendMaxMs: 1_000,
  topicMissingMs: 30_000,
  readTimeoutMs: 5_000,
  readRetryMs: 15_000,
  readMaxBytes: 4 * MIB,
  connectTimeoutMs: 3_000,
  reconnectMs: 100,
  openTimeoutMs: 10_000,
  administrationTimeoutMs: 60_000,
  closeTimeoutMs: 5_000,
};

/** Of the topic of wrapped keys. A put or a destruction that isn't acknowledged by then is given up, in milliseconds. */
export const KEY_APPEND_TIMEOUT_MS = 30_000;
/** Ids that one append destroys at most. */
export const KEYS_DESTROYED_AT_ONCE = 1_000;
/** At the latest after so many milliseconds the brokers begin to clear what was destroyed or wrapped anew: `max.compaction.lag.ms`. */
export const KEY_COMPACTION_LAG_MS = 3_600_000;
