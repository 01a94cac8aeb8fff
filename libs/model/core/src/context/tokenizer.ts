/** Owns what context assembly asks of a tokenizer. Real ones live in their own library; core counts nothing itself. */

export interface Tokenizer {
  /** Names the way of counting, such as `o200k_base`; part of every manifest. */
  readonly id: string;
  /**
   * Tokens of a text, 0 for none. The same text always counts the same, and two texts with a line break between them count at most
   * two more together than apart.
   */
  count(text: string): number;
}
