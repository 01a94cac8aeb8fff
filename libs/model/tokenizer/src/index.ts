/** The entry point of the library. */

export { CountCache } from './count-cache.ts';
export { CACHE_MAX_BYTES, CACHE_MAX_ENTRIES, RUN_MAX_CHARS } from './limits.ts';
export { cachedTokenizer, registerTokenizer, tokenizerById, tokenizerFor } from './tokenizer.ts';
