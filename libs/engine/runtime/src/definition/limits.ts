/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Staged checkpoints that may be unflushed at once in one workflow, unless its definition says otherwise. */
export const STAGED_STEPS_DEFAULT_COUNT = 10;
/** Longest time, in milliseconds, that a staged checkpoint stays unflushed, unless its definition says otherwise. */
export const STAGED_DELAY_DEFAULT_MS = 50;
/** Limits of calls that one effect or model declares, characters of the key of one, the most that one may count to, and its longest period. */
export const CALL_LIMITS_MAX_COUNT = 8;
export const LIMIT_KEY_MAX_CHARS = 200;
export const CALLS_MAX_COUNT = 1_000_000_000;
export const CALL_PERIOD_MAX_MS = 7 * 86_400_000;
/** Longest text of an error that is stored, in characters. */
export const ERROR_TEXT_MAX_CHARS = 8_000;
