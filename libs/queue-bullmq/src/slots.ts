/** Owns the count of jobs that may still begin. Invariant: 0 ≤ free ≤ concurrency. */

export class Slots {
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#free = concurrency;
  }

  get free(): number {
    return this.#free;
  }

  take(): void {
    this.#free -= 1;
  }

  give(): void {
    this.#free += 1;
    this.wake();
  }

  /** Resolves when a slot is free, or on `wake`. */
  async available(): Promise<void> {
    if (this.#free > 0) return;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
