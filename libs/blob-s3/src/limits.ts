/** Owns the limits of the bucket of blobs: name, unit, default and why. */

/** Blobs above this go up in parts of this size, in bytes; S3 wants at least 5 MiB a part. */
export const PART_BYTES = 8 * 1024 * 1024;
/** Parts of one blob under way at once. */
export const PARTS_AT_ONCE = 4;
/** Connections to the server; more requests wait. */
export const CONNECTIONS_MAX = 64;
/** Attempts of one request, the first included; the pauses between them grow. */
export const ATTEMPTS_MAX = 4;
/** How long a connection may take to open, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 3_000;
/** How long a request may go without an answer, or a connection without a byte, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000;
