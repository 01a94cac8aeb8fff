/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Largest event, in bytes, header and payload together; the log's own limit applies where it is lower. */
export const EVENT_MAX_BYTES = 1_048_576;
/** Largest event where payloads may be in blobs, in bytes, header and payload together; what is larger is refused. */
export const BLOB_EVENT_MAX_BYTES = 64 * 1024 * 1024;
/** Blobs that one process puts or gets at once. */
export const BLOBS_AT_ONCE = 8;
/** Bytes of blobs that one read of the log gets, unless its caller says otherwise; the first one it gets in any case. */
export const BLOB_READ_MAX_BYTES = 64 * 1024 * 1024;
/** What was put or read so lately, in milliseconds, is not put again; so many digests are remembered. */
export const BLOB_KNOWN_MS = 600_000;
export const BLOBS_KNOWN_MAX_COUNT = 10_000;
/** What was put longer ago is put again before and after its name is stored, in milliseconds: far less than a sweep's period. */
export const BLOB_FRESH_MS = 3_600_000;
