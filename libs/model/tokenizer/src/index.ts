/** The entry point of the library. */

export { CountCache } from './count-cache.ts';
export { cachedTokenizer, registerTokenizer, tokenizerById, tokenizerFor } from './tokenizer.ts';
