// Owns positions and snippets in one source text. Offsets are UTF-16 units, as the parser gives them.

export type Position = { line: number; column: number };

export class SourceText {
  readonly text: string;
  #lineStarts: number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Line and column (both from 1) of an offset. */
  position(offset: number): Position {
    const starts = this.#starts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - starts[low]! + 1 };
  }

  /** Lines that hold text: a final line end begins no further line. */
  get lineCount(): number {
    if (this.text.length === 0) return 0;
    const starts = this.#starts();
    return starts[starts.length - 1] === this.text.length ? starts.length - 1 : starts.length;
  }

  /** The text between two offsets, read no further than `maxChars`. What is cut there loses its last word as well, so that
   * no part of a secret is left that nobody can recognise any more. */
  slice(start: number, end: number, maxChars: number): string {
    if (end - start <= maxChars) return this.text.slice(start, end);
    return `${this.text.slice(start, start + maxChars).replace(/(?<![^\s(){};,'"`])[^\s(){};,'"`]*$/, '')}…`;
  }

  #starts(): number[] {
    if (this.#lineStarts === undefined) {
      const starts = [0];
      for (let at = this.text.indexOf('\n'); at >= 0; at = this.text.indexOf('\n', at + 1)) starts.push(at + 1);
      this.#lineStarts = starts;
    }
    return this.#lineStarts;
  }
}
