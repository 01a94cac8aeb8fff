/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Times that other processes may move the index of keys while one catches it up, before that one gives up. */
export const INDEX_MOVES_MAX = 100;
/** Unwrapped data keys that a process caches, most recently used. */
export const DATA_KEYS_MAX_COUNT = 10_000;
/** Longest time that a cached key is used, in milliseconds: a process may use a key for so long after another has destroyed it. */
export const DATA_KEY_AGE_MAX_MS = 300_000;
/** How long the absence of a key is remembered, in milliseconds: many records may name a destroyed key. */
export const DATA_KEY_ABSENT_MS = 5_000;
/** Keys that one request to the store reads or writes; requests that arrive meanwhile go into the next one. */
export const DATA_KEYS_AT_ONCE = 500;
/** Keys that a rotation stores at once, and concurrent calls of the provider. */
export const REWRAP_BATCH_COUNT = 100;
export const REWRAPS_AT_ONCE = 8;
/** Keys that a rotation names because they can't be unwrapped; further ones are counted. */
export const REWRAP_WRONG_REPORTED_MAX = 100;
/** Keys that are destroyed at once. */
export const KEYS_DESTROYED_AT_ONCE = 500;
/** Workflows whose data key's id a process remembers. */
export const WORKFLOW_KEYS_MAX_COUNT = 20_000;
/** Bytes of a read that names no bound, and how many times its bound the opened records of one read may have: the last one may exceed it. */
export const OPENED_READ_DEFAULT_BYTES = 4 * 1_024 * 1_024;
export const OPENED_READ_RATIO = 8;
