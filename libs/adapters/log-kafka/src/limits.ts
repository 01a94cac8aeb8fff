/** Owns every limit of log-kafka, with its unit and its default. Must not hold anything that is not a number. */

export interface KafkaLogLimits {
  /** Largest value of one record. Larger things are blobs, which an event names. */
  readonly recordMaxBytes: number;
  /** Largest batch of one partition in one request, and so the largest single `append`; the topic's `max.message.bytes`. */
  readonly batchMaxBytes: number;
  /** Bytes at which an append request is closed (one batch always fits). */
  readonly requestMaxBytes: number;
  /** Records at which an append request is closed (one append always fits). */
  readonly requestMaxRecords: number;
  /** Milliseconds between requests at least where many workflows append: each request costs the broker as much as several records. */
  readonly gatherMs: number;
  /** Different partitions within the window that count as many. */
  readonly gatherPartitionsMin: number;
  /** The window, in milliseconds. */
  readonly spreadWindowMs: number;
  /** Appends waiting to be sent, in bytes; more are refused with `append-queue-full`. */
  readonly pendingMaxBytes: number;
  /** Longest time that a broker may wait for replicas before it answers an append with a time-out. */
  readonly appendTimeoutMs: number;
  /** Time that the client waits beyond `appendTimeoutMs` before it drops the connection and sends the same bytes again. */
  readonly appendGraceMs: number;
  /** First and longest pause before the same bytes are sent again; doubled in between. */
  readonly resendMinMs: number;
  readonly resendMaxMs: number;
  /** Time for which the cluster must deny that the topic exists before an append fails permanently. */
  readonly topicMissingMs: number;
  /** Longest wait for one fetch, list of offsets, or metadata. */
  readonly readTimeoutMs: number;
  /** Time for which a read retries while brokers are away or leaders move; then it throws `log-unavailable`. */
  readonly readRetryMs: number;
  /** Values returned by one `read` that names no `maxBytes`. */
  readonly readMaxBytes: number;
  /** Longest setup of one connection, TLS included. */
  readonly connectTimeoutMs: number;
  /** Pause after a connection was refused; until the next attempt requests fail at once. */
  readonly reconnectMs: number;
  /** Time without an answer from any broker after which `openKafkaLog` fails. */
  readonly openTimeoutMs: number;
  /** Longest creation or growth of the topic, until every partition has a leader. */
  readonly administrationTimeoutMs: number;
  /** Time that `close` waits for appends under way before it abandons them. */
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

/** Of the topic of wrapped keys: milliseconds after which an unacknowledged put or destruction fails. */
export const KEY_APPEND_TIMEOUT_MS = 30_000;
/** Ids that one append destroys at most. */
export const KEYS_DESTROYED_AT_ONCE = 1_000;
/** Milliseconds after which the brokers begin to clear destroyed and replaced bytes at the latest: `max.compaction.lag.ms`. */
export const KEY_COMPACTION_LAG_MS = 3_600_000;
