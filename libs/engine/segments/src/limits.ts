/** Owns the limits of segments. The limits on reading bound what a file may claim before memory is allocated for it. */

const MIB = 1024 * 1024;

/** Records of one segment. */
export const SEGMENT_RECORDS_MAX = 1_000_000;
/** Bytes of the records of one segment, as the log has them; decoding never gives more. */
export const SEGMENT_RAW_MAX_BYTES = 256 * MIB;

/** The window of zstd, as a power of two in bytes. Readers allow 27 by default. */
export const ZSTD_WINDOW_LOG = 23;

/** Orders of an envelope's members that one segment distinguishes; we write one. Each costs a regular expression. */
export const LAYOUTS_MAX = 16;

/** The least memory that zlib allocates at a time, in bytes. */
export const CHUNK_MIN_BYTES = 1_024;
