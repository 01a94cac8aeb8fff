/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Staged checkpoints that may be unflushed at once in one workflow, unless its definition says otherwise. */
export const STAGED_STEPS_DEFAULT_COUNT = 10;
/** Longest time, in milliseconds, that a staged checkpoint stays unflushed, unless its definition says otherwise. */
export const STAGED_DELAY_DEFAULT_MS = 50;
/** Longest text of an error that is stored, in characters. */
export const ERROR_TEXT_MAX_CHARS = 8_000;
