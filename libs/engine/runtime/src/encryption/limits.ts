/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Times that others may move the index of keys while one process catches it up, before that one gives up. */
export const INDEX_MOVES_MAX = 100;
/** Data keys that a process holds unwrapped, the last used. */
export const DATA_KEYS_MAX_COUNT = 10_000;
/** Longest time, in milliseconds, that one is used without asking again; so long a process may go on with one that another destroyed. */
export const DATA_KEY_AGE_MAX_MS = 300_000;
/** So long nobody asks again for a key that isn't there, in milliseconds: many records may name one that was destroyed. */
export const DATA_KEY_ABSENT_MS = 5_000;
/** Keys that a process looks for, asks for or stores together: what is wanted while one question is under way goes with the next. */
export const DATA_KEYS_AT_ONCE = 500;
/** Keys that a rotation stores together, and calls of the provider that it has under way at once. */
export const REWRAP_BATCH_COUNT = 100;
export const REWRAPS_AT_ONCE = 8;
/** Keys that a rotation names because they can't be unwrapped, the first; the others are counted. */
export const REWRAP_WRONG_REPORTED_MAX = 100;
/** Keys that are destroyed together. */
export const KEYS_DESTROYED_AT_ONCE = 500;
/** Workflows of which a process remembers the id of their data key. */
export const WORKFLOW_KEYS_MAX_COUNT = 20_000;
