/** Owns the library's named limits and defaults, each with its unit. Must hold no behaviour. */

/** Texts whose counts one tokenizer caches: their size in memory (two bytes a character), and their number. */
export const CACHE_MAX_BYTES = 32 * 1_024 * 1_024;
export const CACHE_MAX_ENTRIES = 50_000;

/**
 * Characters of a run without a break (only letters, only signs or only spaces) that are counted in one piece. Merging a piece takes time
 * quadratic in its length, so longer runs are divided; no word of a language is as long.
 */
export const RUN_MAX_CHARS = 256;

/** Characters of a model's name. */
export const MODEL_MAX_CHARS = 200;

/** Texts of about 60 tokens that are counted when an encoding is loaded. */
export const WARM_UP_TEXTS = 100;
