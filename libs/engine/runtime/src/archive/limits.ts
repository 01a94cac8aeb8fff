/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Raw bytes of the segments whose records a process keeps at hand. */
export const ARCHIVE_CACHE_MAX_BYTES = 48 * 1024 * 1024;
/** Raw bytes that one read of archived records returns, unless its caller says otherwise. */
export const ARCHIVE_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Segments of several partitions that one such read fetches at one moment. */
export const ARCHIVE_READS_AT_ONCE = 8;
/** A segment ends at so many raw bytes or events. */
export const SEGMENT_MAX_BYTES = 16 * 1024 * 1024;
export const SEGMENT_MAX_EVENTS = 50_000;
/** What may be archived waits until it comes to so many raw bytes, or its oldest event is so much older than the hot window. */
export const SEGMENT_MIN_BYTES = 1024 * 1024;
export const SEGMENT_WAIT_MAX_MS = 86_400_000;
/** Bytes of one read of the log by the compactor. */
export const COMPACTOR_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Partitions that a compactor has under way at once: each holds a segment's records, and the file of them. */
export const COMPACTOR_PARTITIONS_AT_ONCE = 2;
/** Pause between two passes of the compactor, in milliseconds. */
export const COMPACTOR_PERIOD_MS = 60_000;
/** Clocks of compactor and store that differ by more, in milliseconds, archive and delete nothing. */
export const CLOCKS_APART_MAX_MS = 60_000;
/** Rows that were put back from segments go again after this many milliseconds; so many workflows in one transaction. */
export const RESTORED_ROWS_KEPT_MS = 86_400_000;
export const RESTORED_ROWS_PAGE_COUNT = 100;
/** Pause between two looks through a partition's segments for objects that no manifest names, in milliseconds. */
export const ORPHANS_POLL_MS = 86_400_000;
/** Segments that are read from the store's index at once. */
export const SEGMENTS_PAGE_COUNT = 500;
/** Segments of one workflow whose rows are put back. */
export const WORKFLOW_SEGMENTS_MAX_COUNT = 100_000;
/** Times in a row that a read may find the log trimmed beyond what it saw before. */
export const READS_BETWEEN_TRIMS_MAX = 10;
/** Times that one read puts back rows which a compactor takes away again. */
export const RESTORES_PER_READ_MAX = 5;
/** Legal holds that one tenant may have. */
export const HOLDS_MAX_COUNT = 10_000;
/** Longest wait of a compactor for rows to show that a segment is to be deleted; until they do it stays. */
export const DELETION_REPORTED_MAX_MS = 30_000;
/** Pause between two sweeps of blobs, in milliseconds; one goes for good when three sweeps found nothing that refers to it. */
export const BLOB_SWEEP_PERIOD_MS = 86_400_000;
/** Pause between two looks whether a sweep is due, in milliseconds. */
export const BLOB_SWEEP_POLL_MS = 600_000;
/** Texts of rows that name blobs, read at once. */
export const BLOB_REFERENCES_PAGE_COUNT = 5_000;
/** Partitions whose manifests it reads at one moment, before it folds them. */
export const REBUILD_INDEXED_AT_ONCE = 8;
/** Pause between two looks for history that was recalled, in milliseconds, and objects that are asked for at once. */
export const RECALL_POLL_MS = 60_000;
export const RECALLS_AT_ONCE = 16;
/** Pause between two looks at what history takes, in milliseconds: each reads the lengths of all rows. */
export const STORAGE_POLL_MS = 3_600_000;
/** The largest tenants and workflows, of which metrics tell. */
export const STORAGE_TENANTS_MAX_COUNT = 1_000;
export const STORAGE_WORKFLOWS_MAX_COUNT = 20;
/** A compactor whose passes have failed for so long, in milliseconds, is not ready. */
export const READY_COMPACTION_FAILING_MS = 2 * COMPACTOR_PERIOD_MS;
