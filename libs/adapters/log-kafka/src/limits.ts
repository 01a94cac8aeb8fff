/** Owns the limits that several files of log-kafka share, each with its unit and its default. Must not hold anything that is not a number. */

const KIB = 1024;
const MIB = 1024 * KIB;

export const defaultLimits = {
  /** Largest value of one record. Larger things are blobs, which an event names. */
  recordMaxBytes: 4 * MIB,
  /** Largest batch of one partition in one request, and so the largest single `append`; the topic's `max.message.bytes`. */
  batchMaxBytes: 8 * MIB,
  /** Bytes at which an append request is closed (one batch always fits). */
  requestMaxBytes: 2 * MIB,
  /** Records at which an append request is closed (one append always fits). */
  requestMaxRecords: 1_000,
  /** Milliseconds between requests at least where many workflows append: each request costs the broker as much as several records. */
  gatherMs: 4,
  /** Different partitions within the window that count as many. */
  gatherPartitionsMin: 8,
  /** The window, in milliseconds. */
  spreadWindowMs: 20,
  /** Appends waiting to be sent, in bytes; more are refused with `append-queue-full`. */
  pendingMaxBytes: 256 * MIB,
  /** Longest time that a broker may wait for replicas before it answers an append with a time-out. */
  appendTimeoutMs: 2_000,
  /** Time that the client waits beyond `appendTimeoutMs` before it drops the connection and sends the same bytes again. */
  appendGraceMs: 500,
  /** First and longest pause before the same bytes are sent again; doubled in between. */
  resendMinMs: 20,
  resendMaxMs: 1_000,
  /** Time for which the cluster must deny that the topic exists before an append fails permanently. */
  topicMissingMs: 30_000,
  /** Longest wait for one fetch, list of offsets, or metadata. */
  readTimeoutMs: 5_000,
  /** Time for which a read retries while brokers are away or leaders move; then it throws `log-unavailable`. */
  readRetryMs: 15_000,
  /** Values returned by one `read` that names no `maxBytes`. */
  readMaxBytes: 4 * MIB,
  /** Longest setup of one connection, TLS included. */
  connectTimeoutMs: 3_000,
  /** Pause after a connection was refused; until the next attempt requests fail at once. */
  reconnectMs: 100,
  /** Time without an answer from any broker after which `openKafkaLog` fails. */
  openTimeoutMs: 10_000,
  /** Longest creation or growth of the topic, until every partition has a leader. */
  administrationTimeoutMs: 60_000,
  /** Time that `close` waits for appends under way before it abandons them. */
  closeTimeoutMs: 5_000,
};

export type KafkaLogLimits = Readonly<typeof defaultLimits>;

/**
 * Bytes to which the records of one batch may unpack. No batch of ours has more than `batchMaxBytes`, also where the topic's configuration
 * compresses it: then a payload of one letter shrinks ten thousand times, so a bound of the ratio would empty records of ours. What
 * batches unpack to counts towards the bytes of a read instead. It may use up so much more than it has, and in a partition's first batch
 * twice as much; a page of keys ends after so much.
 */
export const BATCH_UNPACKED_MAX_BYTES = 16 * MIB;
