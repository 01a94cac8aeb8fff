/**
 * Owns how many entries are written together. If a write fails, one of its entries is unwritable: half of them are tried, and so on, until it
 * is found. After that one entry is written, and twice as many with each successful write. Must not know what is written.
 */

export class Halving {
  readonly #maxCount: number;
  #count: number;
  /** The unwritable entry is among so many of the next entries; 0: there is none, as far as is known. */
  #inQuestionCount = 0;

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
    this.#count = maxCount;
  }

  /** How many entries to write next, at least 1. */
  get count(): number {
    return this.#inQuestionCount === 0 ? this.#count : Math.max(1, Math.floor(this.#inQuestionCount / 2));
  }

  written(count: number): void {
    if (this.#inQuestionCount > 0) this.#inQuestionCount = Math.max(0, this.#inQuestionCount - count);
    else this.#count = Math.min(this.#count * 2, this.#maxCount);
  }

  /** Takes note of a failed write of so many entries. True if it was of one entry, which is then the unwritable one. */
  failed(count: number): boolean {
    const isFound = count === 1;
    this.#inQuestionCount = isFound ? 0 : count;
    if (isFound) this.#count = 1;
    return isFound;
  }
}
