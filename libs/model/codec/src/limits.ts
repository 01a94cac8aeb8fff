/** Owns the limits of this library, with units. */

/** Bytes of one opened payload or text: one that claims to be larger is damaged. */
export const UNSEALED_MAX_BYTES = 64 * 1024 * 1024;

/** Payloads and texts of at least this many bytes are packed with snappy before they are sealed; smaller ones don't shrink. */
export const SNAPPY_MIN_BYTES = 64;

/** From this size on they are packed with zstd instead, which takes ten times as long and saves a kilobyte (decision 0021). */
export const ZSTD_MIN_BYTES = 4_096;

/** The fastest level: a record waits for it. */
export const ZSTD_LEVEL = 1;
