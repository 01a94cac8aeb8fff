/**
 * Owns how many entries are written together while one among them is unwritable: half of those in question, until one stands alone. After
 * that one alone again, and twice as many with each successful write. Must not know what is written.
 */

export class Halving {
  readonly #maxCount: number;
  #count: number;
  /** This many of the first entries contain an unwritable one. */
  #inQuestionCount = 0;

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
    this.#count = maxCount;
  }

  /** At least 1. */
  get count(): number {
    return this.#inQuestionCount === 0 ? this.#count : Math.max(1, Math.floor(this.#inQuestionCount / 2));
  }

  written(count: number): void {
    if (this.#inQuestionCount > 0) this.#inQuestionCount = Math.max(0, this.#inQuestionCount - count);
    else this.#count = Math.min(this.#count * 2, this.#maxCount);
  }

  /** Whether it is found: the only one of these. */
  failed(count: number): boolean {
    const isFound = count === 1;
    this.#inQuestionCount = isFound ? 0 : count;
    if (isFound) this.#count = 1;
    return isFound;
  }
}
