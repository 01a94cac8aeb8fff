/** Owns the limits that several files of the MCP server share: name, unit, default. */

/** Largest message of a client, in bytes, on either transport. */
export const MESSAGE_MAX_BYTES = 4_194_304;
/** HTTP: sessions at once; connections at once; how long, in milliseconds, an unused session is kept. */
export const SESSIONS_MAX_COUNT = 64;
export const CONNECTIONS_MAX_COUNT = 256;
export const SESSION_IDLE_MS = 30 * 60_000;

/** Longest name (of a session, user, agent, key), note, and text of a hand-over, in characters. */
export const NAME_MAX_CHARS = 200;
export const TEXT_MAX_CHARS = 20_000;
export const ARTIFACTS_MAX_COUNT = 100;
/** Characters of a value within the text of an answer; the structured part has all of it. */
export const TEXT_VALUE_MAX_CHARS = 2_000;
