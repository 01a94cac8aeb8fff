/** Owns how the simulated store shares the ranges of partitions among the living owners of one role. Must not be used outside tests. */

import { RANGE_COUNT } from '@tidemark/ports';

export class SimulatedRanges {
  /** Until when each owner lives. */
  readonly #owners = new Map<string, number>();
  readonly #ranges = new Map<number, string>();

  /** Renews the caller, and returns its ranges. */
  share(owner: string, ttlMs: number, nowMs: number): readonly number[] {
    this.#owners.set(owner, nowMs + ttlMs);
    for (const [other, untilMs] of this.#owners) if (untilMs <= nowMs) this.#owners.delete(other);
    const fair = Math.ceil(RANGE_COUNT / this.#owners.size);
    const own: number[] = [];
    for (let range = 0; range < RANGE_COUNT; range++) {
      const of = this.#ranges.get(range);
      if (of !== undefined && of !== owner && this.#owners.has(of)) continue;
      if (own.length < fair) {
        this.#ranges.set(range, owner);
        own.push(range);
      } else if (of === owner) this.#ranges.delete(range);
    }
    return own;
  }

  release(owner: string): void {
    this.#owners.delete(owner);
    for (const [range, of] of this.#ranges) if (of === owner) this.#ranges.delete(range);
  }

  clear(): void {
    this.#owners.clear();
    this.#ranges.clear();
  }
}
