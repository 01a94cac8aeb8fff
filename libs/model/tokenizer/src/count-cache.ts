/** Owns a cache of counts by text, bounded in bytes and entries; evicts the least recently used. Must not count. */

/** Texts whose counts one tokenizer caches: their size in memory (two bytes a character), and their number. */
const CACHE_MAX_BYTES = 32 * 1_024 * 1_024;
const CACHE_MAX_ENTRIES = 50_000;

export class CountCache {
  readonly #maxBytes: number;
  readonly #maxEntries: number;
  /** In the order of use, the least recent first. */
  readonly #counts = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes = CACHE_MAX_BYTES, maxEntries = CACHE_MAX_ENTRIES) {
    this.#maxBytes = maxBytes;
    this.#maxEntries = maxEntries;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get entries(): number {
    return this.#counts.size;
  }

  get(text: string): number | undefined {
    const count = this.#counts.get(text);
    if (count === undefined) return undefined;
    this.#counts.delete(text);
    this.#counts.set(text, count);
    return count;
  }

  /** Adds a text that isn't cached. A text larger than a quarter of the cache is not stored: it would evict too much. */
  set(text: string, count: number): void {
    const bytes = bytesOf(text);
    if (bytes > this.#maxBytes / 4) return;
    this.#counts.set(text, count);
    this.#bytes += bytes;
    for (const oldest of this.#counts.keys()) {
      if (this.#bytes <= this.#maxBytes && this.#counts.size <= this.#maxEntries) return;
      this.#counts.delete(oldest);
      this.#bytes -= bytesOf(oldest);
    }
  }
}

const bytesOf = (text: string): number => text.length * 2;
