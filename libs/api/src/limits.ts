/** Owns every bound of the HTTP API, with its unit. Those that a deployment may want otherwise are settings; these are their defaults. */

/** Checkpoints that one read fetches. */
export const CHECKPOINTS_PAGE_COUNT = 500;

/** Largest body of a request, in bytes. */
export const BODY_MAX_BYTES = 4 * 1_024 * 1_024;
/** Objects and arrays that lie in one another in a body. */
export const JSON_DEPTH_MAX = 64;
/** Longest address of a request with its query, in characters. */
export const URL_MAX_CHARS = 8_192;
/** Longest part of a path after it was decoded, in characters. */
export const PARAM_MAX_CHARS = 1_024;
/** All headers of a request together with its first line, in bytes. */
export const HEADERS_MAX_BYTES = 16_384;

/** Time in which a request must have arrived whole, and of a connection on which nothing happens, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const CONNECTION_TIMEOUT_MS = 60_000;
/** Time that an answer may take, in milliseconds; a request that waits longer is answered 503 and may be sent again. */
export const HANDLER_TIMEOUT_MS = 25_000;

/** Requests of one principal in a window. */
export const RATE_MAX_COUNT = 6_000;
/** Refused credentials from one address in a window. */
export const REFUSED_MAX_COUNT = 120;
/** The window, in milliseconds. */
export const RATE_WINDOW_MS = 60_000;

/** Rows in one page, at most and unless said otherwise. */
export const PAGE_MAX_COUNT = 500;
export const PAGE_DEFAULT_COUNT = 50;
/** Pending tasks, and newest events, that come with a workflow. */
export const TASKS_SHOWN_COUNT = 200;
export const EVENTS_READ_MAX = 1_000;

/** A request that waits for a result is answered after this long at the latest, in milliseconds. */
export const RESULT_WAIT_MAX_MS = 20_000;
/** Told with a refusal for want of room or of a server: when to come again, in seconds. */
export const RETRY_AFTER_S = 1;
