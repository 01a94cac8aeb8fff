/** Owns a memory that is bounded: what was written first goes first. Must not know what for. */

/** What was written last, so many of them. */
export class Newest<V> {
  readonly #kept = new Map<string, V>();
  readonly #maxCount: number;

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
  }

  get(key: string): V | undefined {
    return this.#kept.get(key);
  }

  set(key: string, value: V): void {
    this.#kept.delete(key);
    this.#kept.set(key, value);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#maxCount) this.#kept.delete(oldest!);
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }
}
