/** The entry point of the library. */

export { ENCODINGS, registerTokenizer, tokenizerById, tokenizerFor } from './tokenizer.ts';
