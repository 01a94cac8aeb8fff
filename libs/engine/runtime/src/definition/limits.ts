/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Staged checkpoints that may be unflushed at once in one workflow, unless its definition says otherwise. */
export const STAGED_STEPS_DEFAULT_COUNT = 10;
/** Longest time, in milliseconds, that a staged checkpoint stays unflushed, unless its definition says otherwise. */
export const STAGED_DELAY_DEFAULT_MS = 50;
/** Longest text of an error that is stored, in characters. */
export const ERROR_TEXT_MAX_CHARS = 8_000;
/** Longest code of an error that is stored, in characters. */
export const ERROR_CODE_MAX_CHARS = 200;
/** Longest text of a request that is kept as evidence for a parked workflow, in characters. */
export const EVIDENCE_MAX_CHARS = 64_000;
/** Most limits of concurrency and rate that one workflow may be under. */
export const DISPATCH_LIMITS_MAX_COUNT = 8;
/** Longest key of a limit of concurrency or rate, in characters. */
export const LIMIT_KEY_MAX_CHARS = 200;
/** Highest concurrency of one key, in workflows. */
export const LIMIT_CONCURRENCY_MAX_COUNT = 100_000;
/** Highest rate of one key, in workflows that begin in a period: a queue remembers when each began. */
export const LIMIT_RATE_MAX_COUNT = 1_000;
/** Longest period of a rate: seven days. */
export const LIMIT_RATE_PERIOD_MAX_MS = 7 * 24 * 60 * 60 * 1_000;
