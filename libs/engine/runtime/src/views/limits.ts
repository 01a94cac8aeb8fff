/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Largest event, in bytes, header and payload together; the log's own limit applies where it is lower. */
export const EVENT_MAX_BYTES = 1_048_576;
/** Largest event where payloads may be in blobs, in bytes, header and payload together; larger ones are refused. */
export const BLOB_EVENT_MAX_BYTES = 64 * 1024 * 1024;
/** Blobs that one process writes or reads at once. */
export const BLOBS_AT_ONCE = 8;
/** Default bytes of blobs that one read of the log returns; it always returns the first one. */
export const BLOB_READ_MAX_BYTES = 64 * 1024 * 1024;
/** How long a blob counts as stored after a write or read, in milliseconds; and digests that are remembered. */
export const BLOB_KNOWN_MS = 600_000;
export const BLOBS_KNOWN_MAX_COUNT = 10_000;
/**
 * A blob that was stored longer ago than this, in milliseconds, is stored again before and after its reference is: far less than a sweep's
 * period.
 */
export const BLOB_FRESH_MS = 3_600_000;
