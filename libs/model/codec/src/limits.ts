/** Owns limits of this library, with units. */

/** Bytes of one payload or text after it was opened: what claims to be larger is damaged. */
export const UNSEALED_MAX_BYTES = 64 * 1024 * 1024;

/** Bytes of a payload or text from which on it is packed with snappy before it is sealed: smaller ones nothing makes smaller. */
export const SNAPPY_MIN_BYTES = 64;

/** Bytes from which on it is packed with zstd instead, which takes ten times as long and gains a kilobyte for it (decision 0021). */
export const ZSTD_MIN_BYTES = 4_096;

/** The quickest level: a record waits for it. */
export const ZSTD_LEVEL = 1;
