/** Owns every limit of the MCP server: name, unit, default. */

/** Largest message of a client, in bytes, on either transport. */
export const MESSAGE_MAX_BYTES = 4_194_304;
/** HTTP: sessions at once; connections at once; how long, in milliseconds, an unused session is kept. */
export const SESSIONS_MAX_COUNT = 64;
export const CONNECTIONS_MAX_COUNT = 256;
export const SESSION_IDLE_MS = 30 * 60_000;
/** HTTP: poll interval for unused sessions, in milliseconds. */
export const SESSION_POLL_PERIOD_MS = 60_000;
/** HTTP: how long, in milliseconds, a client may take to send its headers, and its whole request. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 60_000;
/** Fewest characters of a token that clients must show. */
export const TOKEN_MIN_CHARS = 16;
/** Calls of one client under way at once; further ones are refused. */
export const CALLS_MAX_COUNT = 32;
/** Longest wait for calls under way once their client is gone, or the server is ended, in milliseconds. */
export const CLOSE_GRACE_MS = 10_000;

/** Longest name (of a session, user, agent, key), note, and text of a hand-over, in characters. */
export const NAME_MAX_CHARS = 200;
export const TEXT_MAX_CHARS = 20_000;
export const ARTIFACTS_MAX_COUNT = 100;
/** Characters of the question of a recall that are used. */
export const QUERY_MAX_CHARS = 2_000;
/** Entries of a recall and a list: by default, and at most. */
export const RECALL_DEFAULT_COUNT = 3;
export const RECALL_MAX_COUNT = 20;
export const LIST_DEFAULT_COUNT = 50;
export const LIST_MAX_COUNT = 1_000;
/** Characters of a value (belief, input, output) as JSON beyond which answers cut it; and characters shown of a cut one. */
export const VALUE_MAX_CHARS = 65_536;
export const VALUE_CUT_CHARS = 4_096;
/** Characters of a value within the text of an answer; the structured part has all of it. */
export const TEXT_VALUE_MAX_CHARS = 2_000;
/** Wrong arguments that an answer names, and characters of a place and its fault: both may quote the call. */
export const ISSUES_REPORTED_MAX_COUNT = 20;
export const ISSUE_REPORTED_MAX_CHARS = 200;
