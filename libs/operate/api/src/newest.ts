/** Owns a bounded memory that drops the oldest entry first. Must not know its use. */

/** Keeps the entries written last, up to a number. */
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
