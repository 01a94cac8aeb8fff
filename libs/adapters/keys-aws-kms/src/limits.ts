/** Owns the limits of keys in AWS KMS: name, unit, default and why. */

/** Connections to KMS; more requests wait. */
export const CONNECTIONS_MAX = 32;
/** Attempts of one request, the first included; the pauses between them grow. */
export const ATTEMPTS_MAX = 4;
/** How long a connection may take to open, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 3_000;
/** How long a request may go without an answer, in milliseconds. KMS answers within tens. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** Largest ciphertext that KMS takes, in bytes. */
export const CIPHERTEXT_MAX_BYTES = 6_144;
/** Longest text of a refusal that is passed on, in characters. */
export const SAID_MAX_CHARS = 500;
