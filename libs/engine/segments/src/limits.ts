/** Owns the limits of segments. The limits on reading bound what a file may claim before memory is allocated for it. */

const MIB = 1024 * 1024;

/** Records of one segment. */
export const SEGMENT_RECORDS_MAX = 1_000_000;
/** Bytes of one segment's records in the form that the log has; decoding a segment never returns more. */
export const SEGMENT_RAW_MAX_BYTES = 256 * MIB;

/** The window of zstd, as a power of two in bytes. Readers allow 27 by default. */
export const ZSTD_WINDOW_LOG = 23;

/** Most orders of an envelope's members in one segment. Each costs a regular expression; Tidemark writes one order. */
export const LAYOUTS_MAX = 16;

/** The least memory that zlib allocates at a time, in bytes. */
export const CHUNK_MIN_BYTES = 1_024;
