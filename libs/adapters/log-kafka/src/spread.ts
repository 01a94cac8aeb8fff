/** Owns counting the partitions that are appended to at a time. Must not remember any of them for longer than two windows. */

export class Spread {
  readonly #windowMs: number;
  readonly #current = new Set<number>();
  #last = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  add(partition: number): void {
    this.#turn();
    this.#current.add(partition);
  }

  /** Number of different ones within the last full window, or within the current one if they are more. */
  get count(): number {
    this.#turn();
    return Math.max(this.#last, this.#current.size);
  }

  #turn(): void {
    const nowMs = performance.now();
    const sinceMs = nowMs - this.#sinceMs;
    if (sinceMs < this.#windowMs) return;
    this.#last = sinceMs < 2 * this.#windowMs ? this.#current.size : 0;
    this.#current.clear();
    this.#sinceMs = nowMs;
  }
}
