/** Owns the limits of segments. The limits on reading bound what a file may claim before memory is allocated for it. */

const MIB = 1024 * 1024;

/** Records of one segment. */
export const SEGMENT_RECORDS_MAX = 1_000_000;
/** Bytes of the records of one segment, as the log has them; decoding never gives more. */
export const SEGMENT_RAW_MAX_BYTES = 256 * MIB;
/** What the columns may unpack to besides the records' bytes, for each record: lengths, levels and numbers. */
export const UNPACKED_EXTRA_BYTES_PER_RECORD = 256;

/** A row group ends with the record that takes it above this many bytes, or after this many records: writing one blocks the thread. */
export const ROW_GROUP_TARGET_BYTES = 4 * MIB;
export const ROW_GROUP_RECORDS_MAX = 8_192;
/** The window of zstd, as a power of two in bytes. Readers allow 27 by default. */
export const ZSTD_WINDOW_LOG = 23;
/** The least and the greatest value of a column are cut to this many bytes in the footer. */
export const BOUND_MAX_BYTES = 64;

/** Ours is about 4 KB for each row group. */
export const FOOTER_MAX_BYTES = MIB;
/** Ours is about 30 bytes. */
export const PAGE_HEADER_MAX_BYTES = 1_024;
/** A text in a footer or in a page's header. */
export const METADATA_TEXT_MAX_BYTES = 4_096;
/** Nesting of structures in a footer or in a page's header. */
export const METADATA_DEPTH_MAX = 16;
/** Bits of an index into a dictionary: a dictionary never has more entries than a segment has records. */
export const INDEX_WIDTH_MAX = 20;

/** Orders of an envelope's members that one segment distinguishes; we write one. Each costs a regular expression. */
export const LAYOUTS_MAX = 16;

/** Records are decoded into buffers of this size, which live as long as any of their records is referenced. */
export const ARENA_BYTES = MIB;
/** The least memory that zlib allocates at a time, in bytes. */
export const CHUNK_MIN_BYTES = 1_024;
