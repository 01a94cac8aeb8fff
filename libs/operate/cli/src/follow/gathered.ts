/** Owns batching what comes one by one: each batch has everything since the last one, a moment after the first. */

export class Gathered<T> {
  readonly #source: AsyncIterable<T>;
  #items: T[] = [];
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(source: AsyncIterable<T>) {
    this.#source = source;
    void this.#read();
  }

  /**
   * Returns what has come; at once where something has. Empty: nothing came for so many milliseconds. Undefined: nothing will come any
   * more. Throws as the source does, after what came before.
   */
  async take({
    waitMs,
    gatherMs,
  }: {
    readonly waitMs: number;
    readonly gatherMs: number;
  }): Promise<readonly T[] | undefined> {
    if (this.#items.length === 0 && !this.#isOver) await this.#anything(waitMs);
    // What follows closely joins the batch.
    if (this.#items.length > 0 && !this.#isOver) await new Promise((resolve) => setTimeout(resolve, gatherMs));
    const taken = this.#items;
    this.#items = [];
    if (taken.length > 0 || !this.#isOver) return taken;
    if (this.#failure !== undefined) throw this.#failure.error;
    return undefined;
  }

  async #read(): Promise<void> {
    try {
      for await (const item of this.#source) {
        this.#items.push(item);
        this.#wake?.();
      }
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#isOver = true;
      this.#wake?.();
    }
  }

  async #anything(waitMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
