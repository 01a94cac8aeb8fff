/** Owns counting how many partitions are appended to within a window of time. Must not remember a partition for longer than two windows. */

export class BusyPartitions {
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

  /** Number of partitions in the last full window, or in the current one if that has more. */
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
