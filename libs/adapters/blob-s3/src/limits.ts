/** Owns the limits of the buckets of blobs and of objects: name, unit, default and why. */

/** Before an object of more bytes is sent, the server is asked whether it has it. */
export const ASKED_FIRST_BYTES = 8 * 1024 * 1024;
/** Requests under way at once; more wait their turn. */
export const REQUESTS_AT_ONCE = 64;
/** Connections to the server. There must be enough: the SDK takes the wait for a free one for a server that doesn't answer. */
export const CONNECTIONS_MAX = 4 * REQUESTS_AT_ONCE;
/** Attempts of one request, the first included; the pauses between them grow. */
export const ATTEMPTS_MAX = 4;
/** How long a connection may take to open, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 3_000;
/** How long a request may go without an answer, or a connection without a byte, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Time that a request with bytes gets for sending them, beside the time for its answer. */
export const SLOWEST_UPLOAD_BYTES_PER_S = 1024 * 1024;
/** Tries of a write that others disturb, each with all its attempts. */
export const CREATE_ROUNDS_MAX = 4;
/** Pause after the first disturbance, in milliseconds; doubles. */
export const CREATE_PAUSE_MS = 50;
/** Names that one listing sorts, at about 100 bytes of memory each. */
export const LISTED_NAMES_MAX = 5_000_000;
/** How long a restored copy of an archived object stays readable, in days. */
export const RESTORED_DAYS = 3;
/** Recalled objects whose time of request is remembered. */
export const RECALLS_KNOWN_MAX = 10_000;
