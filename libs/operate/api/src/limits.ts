/** Owns the bounds that several files of the HTTP API share, each with its unit. These are the defaults of those that are settings. */

/** All headers of a request together with its first line, in bytes. */
export const HEADERS_MAX_BYTES = 16_384;

/** Time in which a request must have arrived whole, and after which an idle connection is closed, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const CONNECTION_TIMEOUT_MS = 60_000;

/** Requests of one principal in a window. */
export const RATE_MAX_COUNT = 6_000;

/** Rows in one page: at most, and by default. */
export const PAGE_MAX_COUNT = 500;
/** Pending tasks of one workflow among which checkpoints that are reserved are searched for. */
export const RESERVING_TASKS_READ_MAX_COUNT = 1_000;
/** Hand-overs between phases in a page, each of which is a read of its own. */
export const HANDOVERS_MAX_COUNT = 100;
export const PAGE_DEFAULT_COUNT = 50;

/** Time for which a workflow is still read after its last follower left, in milliseconds. */
export const FEED_LINGER_MS = 10_000;
