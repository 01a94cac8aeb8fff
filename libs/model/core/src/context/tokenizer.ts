/** Owns the interface of a tokenizer. Implementations are in a library of their own; core counts nothing itself. */

export interface Tokenizer {
  /** Names the encoding, for example `o200k_base`; part of every manifest. */
  readonly id: string;
  /**
   * Number of tokens in a text, 0 for the empty text. It must be deterministic. Two texts joined by a line break may count at most two more
   * than the sum of both.
   */
  count(text: string): number;
}
