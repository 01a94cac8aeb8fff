/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Most fragments, and changes of long-term memory, in one checkpoint; longest subject and key of a memory, in characters. */
export const FRAGMENTS_PER_CHECKPOINT_MAX = 1_000;
/** Largest `parts` of one fragment, as characters of JSON: 8 MiB, which holds a file of 4 MiB as base64. */
export const FRAGMENT_PARTS_MAX_CHARS = 8 * 1_024 * 1_024;
export const MEMORIES_PER_CHECKPOINT_MAX = 100;
export const MEMORY_KEY_MAX_CHARS = 256;
