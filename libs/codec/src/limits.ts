/** Owns limits of this library, with units. */

/** Bytes of one payload or text after it was opened: what claims to be larger is damaged. */
export const UNSEALED_MAX_BYTES = 64 * 1024 * 1024;
