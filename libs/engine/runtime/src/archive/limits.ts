/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Raw bytes of segments whose records a process caches. */
export const ARCHIVE_CACHE_MAX_BYTES = 48 * 1024 * 1024;
/** Default raw bytes that one read of archived records returns. */
export const ARCHIVE_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Segments of several partitions that one read of archived records fetches at once. */
export const ARCHIVE_READS_AT_ONCE = 8;
/** Raw bytes, and events, at which a segment ends. */
export const SEGMENT_MAX_BYTES = 16 * 1024 * 1024;
export const SEGMENT_MAX_EVENTS = 50_000;
/** A stretch waits until it has this many raw bytes, or until its oldest event is older than the hot window by this long. */
export const SEGMENT_MIN_BYTES = 1024 * 1024;
export const SEGMENT_WAIT_MAX_MS = 86_400_000;
/** Bytes of one read of the log by the compactor. */
export const COMPACTOR_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Partitions that a compactor works on at once: each holds a segment's records and its file in memory. */
export const COMPACTOR_PARTITIONS_AT_ONCE = 2;
/** Pause between two passes of the compactor, in milliseconds. */
export const COMPACTOR_PERIOD_MS = 60_000;
/** While the clocks of compactor and store differ by more than this, in milliseconds, nothing is archived or deleted. */
export const CLOCKS_APART_MAX_MS = 60_000;
/** How long restored rows are kept, in milliseconds; and workflows whose rows one transaction drops. */
export const RESTORED_ROWS_KEPT_MS = 86_400_000;
export const RESTORED_ROWS_PAGE_COUNT = 100;
/** Pause between two searches of a partition for objects that no manifest names, in milliseconds. */
export const ORPHANS_POLL_MS = 86_400_000;
/** Segments in one page of the store's index. */
export const SEGMENTS_PAGE_COUNT = 500;
/** Most segments of one workflow whose rows are restored. */
export const WORKFLOW_SEGMENTS_MAX_COUNT = 100_000;
/** Times in a row that a read may find the log trimmed further than it saw before. */
export const READS_BETWEEN_TRIMS_MAX = 10;
/** Times that one read restores rows that a compactor drops again. */
export const RESTORES_PER_READ_MAX = 5;
/** Legal holds that one tenant may have. */
export const HOLDS_MAX_COUNT = 10_000;
/** Longest wait of a compactor for rows to show a segment's deletion; the segment stays until they do. */
export const DELETION_REPORTED_MAX_MS = 30_000;
/** Pause between two sweeps of blobs, in milliseconds; a blob is deleted once three sweeps found no reference to it. */
export const BLOB_SWEEP_PERIOD_MS = 86_400_000;
/** Period of the check whether a sweep is due, in milliseconds. */
export const BLOB_SWEEP_POLL_MS = 600_000;
/** Texts of rows with references to blobs, in one page. */
export const BLOB_REFERENCES_PAGE_COUNT = 5_000;
/** Partitions whose manifests a rebuild reads at once, before it folds them. */
export const REBUILD_INDEXED_AT_ONCE = 8;
/** Pause between two attempts to read recalled history, in milliseconds; and objects that are requested at once. */
export const RECALL_POLL_MS = 60_000;
export const RECALLS_AT_ONCE = 16;
/** Period of the poll of storage sizes, in milliseconds: each reads the lengths of all rows. */
export const STORAGE_POLL_MS = 3_600_000;
/** Largest tenants and workflows that metrics report. */
export const STORAGE_TENANTS_MAX_COUNT = 1_000;
export const STORAGE_WORKFLOWS_MAX_COUNT = 20;
/** A compactor is not ready when its passes have failed for this long, in milliseconds. */
export const READY_COMPACTION_FAILING_MS = 2 * COMPACTOR_PERIOD_MS;
