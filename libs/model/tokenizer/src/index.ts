/** The entry point of the library. */

export { CountCache } from './count-cache.ts';
export { cachedTokenizer, ENCODINGS, registerTokenizer, tokenizerById, tokenizerFor } from './tokenizer.ts';
