/** Owns the limits that several files of log-sqlite share, each with its unit and its default. Must not hold anything that is not a number. */

const KIB = 1024;
const MIB = 1024 * KIB;

export const defaultLimits = {
  /** Largest value of one record. Larger things are blobs, which an event names. */
  recordMaxBytes: 4 * MIB,
  /** Largest single `append`. */
  appendMaxBytes: 8 * MIB,
  /** Bytes, and records, at which a transaction is closed (one append always fits). */
  transactionMaxBytes: 16 * MIB,
  transactionMaxRecords: 2_000,
  /** Appends waiting for their transaction, in bytes; more are refused with `append-queue-full`. */
  pendingMaxBytes: 256 * MIB,
  /** Values returned by one `read` that names no `maxBytes`. */
  readMaxBytes: 4 * MIB,
  /** Records that `trim` deletes in one go, so that a long trim blocks nobody. */
  trimSliceRecords: 1_000,
  /** Pages in the write-ahead log at which SQLite moves them into the database file. */
  checkpointPages: 2_000,
  /** Page cache. */
  cacheMaxBytes: 32 * MIB,
  /** Files up to this size are checked whole when they are opened; larger ones only in their structure. */
  checkMaxBytes: 64 * MIB,
  /** Largest database file; appends beyond are refused with `log-full`, as when the disk is full. */
  fileMaxBytes: 1024 * 1024 * MIB,
};

export type SqliteLogLimits = Readonly<typeof defaultLimits>;

/** Records that one base serves, so that a trim keeps few of them for others, and a damaged base costs few records. */
export const BASE_REACH_RECORDS = 256;
