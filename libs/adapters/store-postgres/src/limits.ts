/** Owns every limit of this library, with units and defaults. */

/** Connections to Postgres that one process holds at most. Overridden by `poolMax`. */
export const POOL_MAX = 4;
/** A connection that nobody used for this long is closed. */
export const IDLE_CONNECTION_MS = 60_000;
/** Longest wait for a connection: a new one, or a free one of the pool. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** Longest wait for the answer to one round trip; then the connection is given up. */
export const ANSWER_TIMEOUT_MS = 30_000;
/** Times that two connections through a pooler compare which processes of the server answer them. Others' traffic may hide a pooler of transactions once. */
export const POOLER_ROUNDS_MAX = 8;
/** Longest wait for a script: a migration of large tables. */
export const SCRIPT_TIMEOUT_MS = 3_600_000;
/** Longest start of PGlite, including the creation of its folder. */
export const PGLITE_START_TIMEOUT_MS = 120_000;
/** Longest clean stop of PGlite; after it the thread is terminated. */
export const PGLITE_STOP_TIMEOUT_MS = 10_000;
/** Attempts at a transaction that Postgres ended to resolve a deadlock. */
export const DEADLOCK_ATTEMPTS_MAX = 4;
/** Approximate bytes of rows in one statement; more rows are split over several statements of the same transaction. */
export const STATEMENT_MAX_BYTES = 4 * 1024 * 1024;
/** Evidence of a rejected record, in characters; longer is cut. */
export const EVIDENCE_MAX_CHARS = 2_000;
/** Memory of one sort or hash of a statement, before Postgres goes to disk. */
export const WORK_MEM_KB = 32 * 1024;
/** Pages that PGlite keeps in its memory, all of which it writes to when it starts; the system's cache holds the files. */
export const PGLITE_BUFFERS_KB = 16 * 1024;
/** Bytes of statements after which PGlite, which has no background processes, vacuums and writes a checkpoint. */
export const PGLITE_UPKEEP_BYTES = 64 * 1024 * 1024;
/** Rows that the rarest words of a query select as candidates; the other words only add to their scores. */
export const WORD_CANDIDATES_MAX = 200;
/** Entries of a subject, and of a word in them, that are counted for the rarity of words. A word that stands in more weighs next to nothing. */
export const COUNTED_ENTRIES_MAX = 2_000;
/** Distinct words of a query that are searched for. */
export const WORD_TERMS_MAX = 40;
/** Results of each ranking, by words and by meaning, that are merged. */
export const RANKING_DEPTH = 64;
/** Numbers in an embedding. */
export const VECTOR_DIMENSION_MAX = 16_000;
/** Bytes of embeddings of all subjects that this process caches where there is no pgvector. 10,000 with 384 dimensions are 15 MB. */
export const VECTOR_CACHE_MAX_BYTES = 64 * 1024 * 1024;
/** Without pgvector: embeddings read in one round trip. */
export const VECTOR_PAGE_ROWS = 2_000;
/** Data keys that one page of a listing reads. */
export const KEYS_PAGE_ROWS = 1_000;
/** Longest wait for the locks on tables that are to be switched or compared: first the writers' locks, then everybody's. */
export const SWITCH_LOCK_TIMEOUT_MS = 5_000;
/** Longest time in total that writers are blocked while tables are switched or compared. */
export const SWITCH_MAX_MS = 30_000;
/** Longest silence of a process that blocks writers, after which it counts as dead. It is longer than catching up with them may take. */
export const SWITCH_SILENCE_MAX_MS = 10_000;
/** Longest count of parked workflows. The count is reported repeatedly, so one that takes longer is skipped. */
export const PARKED_COUNT_MAX_MS = 2_000;
/** Connections of a rebuild: one writes folds, one blocks writers, one compares, one reads, one holds the lock. */
export const REBUILD_POOL_MAX = 5;
/** Differences of rows that one round trip reads. */
export const DIFFERENCES_PAGE_ROWS = 1_000;
/** Rows with their texts that one round trip reads when differing rows are shown; each may be as long as an event. */
export const CONTENTS_PAGE_ROWS = 50;
/** Bytes of the longest name that Postgres doesn't cut. */
export const NAME_MAX_BYTES = 63;
/** Longest wait of a migration for a table that others use; they wait behind it meanwhile. */
export const MIGRATION_LOCK_TIMEOUT_MS = 2_000;
/** Pause between two waits of a migration for a table, in which those behind it resume. */
export const MIGRATION_LOCK_PAUSE_MS = 1_000;
/** Waits for a table before the migration fails. */
export const MIGRATION_LOCK_ATTEMPTS_MAX = 10;
/** Bytes of the largest table, with its indexes, that is rewritten while others wait, to clear deleted data out of its files. */
export const SCRUB_TABLE_MAX_BYTES = 256 * 1024 * 1024;
/** Longest wait for the lock on a table that is rewritten; meanwhile others wait behind it. */
export const SCRUB_LOCK_TIMEOUT_MS = 5_000;
/** Longest time that others wait while the table is rewritten. */
export const SCRUB_MAX_MS = 30_000;
/** Longest wait for transactions that may still see deleted rows. */
export const SCRUB_READERS_MAX_MS = 10_000;
/** Pause between two polls for them. */
export const SCRUB_READERS_POLL_MS = 50;
/** Largest template of a database, unpacked, in bytes. */
export const TEMPLATE_MAX_BYTES = 512 * 1_024 * 1_024;
