/** Owns the limits of segments. Those of reading bound what a file may claim of itself, before anything is made for it. */

const MIB = 1024 * 1024;

/** Records of one segment. */
export const SEGMENT_RECORDS_MAX = 1_000_000;
/** Bytes of the records of one segment, as the log holds them; what is decoded is never more. */
export const SEGMENT_RAW_MAX_BYTES = 256 * MIB;
/** Beside the records' bytes, what the columns that are read may unpack to, for each record: lengths, levels and numbers. */
export const UNPACKED_EXTRA_BYTES_PER_RECORD = 256;

/** A row group ends with the record that takes it over so many bytes, or after so many records: writing one holds the thread. */
export const ROW_GROUP_TARGET_BYTES = 4 * MIB;
export const ROW_GROUP_RECORDS_MAX = 8_192;
/** What zstd looks back on, as a power of two in bytes. Readers allow 27 by default. */
export const ZSTD_WINDOW_LOG = 23;
/** The least and the greatest value of a column are cut to so many bytes in the footer. */
export const BOUND_MAX_BYTES = 64;

/** Ours is about 4 KB for each row group. */
export const FOOTER_MAX_BYTES = MIB;
/** Ours is about 30 bytes. */
export const PAGE_HEADER_MAX_BYTES = 1_024;
/** A text of a footer or of a page's header. */
export const METADATA_TEXT_MAX_BYTES = 4_096;
/** Structures in one another, in a footer or in a page's header. */
export const METADATA_DEPTH_MAX = 16;
/** Bits of an index into a dictionary: more entries than a segment has records are never written. */
export const INDEX_WIDTH_MAX = 20;

/** Orders of an envelope's members that one segment tells apart; we write one. Each costs a regular expression. */
export const LAYOUTS_MAX = 16;

/** Records are decoded into buffers of so many bytes, which live as long as one of their records is held. */
export const ARENA_BYTES = MIB;
/** Bytes that zlib takes memory for at a time, at least. */
export const CHUNK_MIN_BYTES = 1_024;
