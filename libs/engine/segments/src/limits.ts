/** Owns the limits of segments. Those of reading bound what a file may claim of itself, before anything is made for it. */

const MIB = 1024 * 1024;

/** Records of one segment. */
export const SEGMENT_RECORDS_MAX = 1_000_000;
/** Bytes of the records of one segment, as the log holds them; what is decoded is never more. */
export const SEGMENT_RAW_MAX_BYTES = 256 * MIB;
/** Beside the records' bytes, what the columns that are read may unpack to, for each record: lengths, levels and numbers. */
export const UNPACKED_EXTRA_BYTES_PER_RECORD = 256;

/** A page of text ends with the value that takes it over so many bytes: zstd looks for repetition in one page. */
export const PAGE_TARGET_BYTES = 8 * MIB;
/** What zstd looks back on, as a power of two in bytes: all of a page. Readers allow 27 by default. */
export const ZSTD_WINDOW_LOG = 23;
/** Columns that are smaller stay as they are: a frame of zstd would be larger, and costs 0.1 ms to begin. */
export const COMPRESS_MIN_BYTES = 64;

/** Ours is about 3 KB. */
export const FOOTER_MAX_BYTES = MIB;
/** Structures in one another, in a footer. */
export const THRIFT_DEPTH_MAX = 16;

/** Orders of an envelope's members that one segment tells apart; we write one. Each costs a regular expression. */
export const LAYOUTS_MAX = 16;

/** Records are decoded into buffers of so many bytes, which live as long as one of their records is held. */
export const ARENA_BYTES = MIB;
