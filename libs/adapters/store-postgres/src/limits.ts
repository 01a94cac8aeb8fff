/** Owns every limit of this library, with units and defaults. */

/** Connections to Postgres that one process holds at most. Overridden by `poolMax`. */
export const POOL_MAX = 4;
/** A connection that nobody used for this long is closed. */
export const IDLE_CONNECTION_MS = 60_000;
/** Longest wait for a connection: a new one, or a free one of the pool. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** Longest wait for the answer to one round trip; then the connection is given up. */
export const ANSWER_TIMEOUT_MS = 30_000;
/** Longest wait for a script: a migration of large tables. */
export const SCRIPT_TIMEOUT_MS = 3_600_000;
/** Longest start of PGlite, which includes creating its folder. */
export const PGLITE_START_TIMEOUT_MS = 120_000;
/** Longest clean stop of PGlite; then its thread is ended. */
export const PGLITE_STOP_TIMEOUT_MS = 10_000;
/** Attempts at a transaction that Postgres ended to resolve a deadlock. */
export const DEADLOCK_ATTEMPTS_MAX = 4;
/** Bytes of rows in one statement, roughly; more are split over several statements of the same transaction. */
export const STATEMENT_MAX_BYTES = 4 * 1024 * 1024;
/** Evidence of a rejected record, in characters; longer is cut. */
export const EVIDENCE_MAX_CHARS = 2_000;
/** Memory of one sort or hash of a statement, before Postgres goes to disk. */
export const WORK_MEM_KB = 32 * 1024;
/** Pages that PGlite keeps in its memory, all of which it writes to when it starts; the system's cache holds the files. */
export const PGLITE_BUFFERS_KB = 16 * 1024;
/** PGlite has no background processes: after this many bytes of statements it vacuums and writes a checkpoint itself. */
export const PGLITE_UPKEEP_BYTES = 64 * 1024 * 1024;
/** Rows that the rarest words of a query name as candidates; the other words only add to their scores. */
export const WORD_CANDIDATES_MAX = 200;
/** Entries of a subject, and of a word in them, that are counted for the rarity of words: a word in more weighs nothing beside others. */
export const COUNTED_ENTRIES_MAX = 2_000;
/** Distinct words of a query that are looked for. */
export const WORD_TERMS_MAX = 40;
/** The best of each ranking, by words and by meaning, that are brought together. */
export const RANKING_DEPTH = 64;
/** Numbers in an embedding. */
export const VECTOR_DIMENSION_MAX = 16_000;
/** Without pgvector: embeddings kept in this process, of all subjects. 10,000 with 384 dimensions are 15 MB. */
export const VECTOR_CACHE_MAX_BYTES = 64 * 1024 * 1024;
/** Without pgvector: embeddings read in one round trip. */
export const VECTOR_PAGE_ROWS = 2_000;
/** Data keys that one page of a listing reads. */
export const KEYS_PAGE_ROWS = 1_000;
/** Longest wait for the locks on tables that are to be switched or compared: of writers, and then of everybody. */
export const SWITCH_LOCK_TIMEOUT_MS = 5_000;
/** Longest that writers are held while tables are switched or compared, all of it taken together. */
export const SWITCH_MAX_MS = 30_000;
/** Longest that a process which holds writers may say nothing: longer than it may need to catch up with them, and then it counts as gone. */
export const SWITCH_SILENCE_MAX_MS = 10_000;
/** Longest count of what is parked; it is told again and again, so that a count that took longer is left out. */
export const PARKED_COUNT_MAX_MS = 2_000;
/** Connections of a rebuild: one that folds are written by, one that holds writers, one that compares, one that looks, one for its lock. */
export const REBUILD_POOL_MAX = 5;
/** Differences of rows that are read in one round trip. */
export const DIFFERENCES_PAGE_ROWS = 1_000;
/** The same of rows with their texts: each may be as long as an event. */
export const CONTENTS_PAGE_ROWS = 50;
/** Bytes of the longest name that Postgres doesn't cut. */
export const NAME_MAX_BYTES = 63;
/** Longest wait of a migration for a table that others use; meanwhile they wait behind it. */
export const MIGRATION_LOCK_TIMEOUT_MS = 2_000;
/** Between two such waits: those behind it go on. */
export const MIGRATION_LOCK_PAUSE_MS = 1_000;
/** Such waits before it is given up. */
export const MIGRATION_LOCK_ATTEMPTS_MAX = 10;
/** Bytes of the largest table, its indexes among them, that is written anew while others wait for it: to clear what was deleted out of its files. */
export const SCRUB_TABLE_MAX_BYTES = 256 * 1024 * 1024;
/** Longest wait for the lock on such a table; meanwhile others wait behind it. */
export const SCRUB_LOCK_TIMEOUT_MS = 5_000;
/** Longest that others wait while it is written. */
export const SCRUB_MAX_MS = 30_000;
/** Longest wait for transactions that may still see what was deleted. */
export const SCRUB_READERS_MAX_MS = 10_000;
/** Between two looks for them. */
export const SCRUB_READERS_POLL_MS = 50;
