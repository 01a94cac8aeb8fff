/**
 * Owns places of one kind that are given out and given back. A tenant has at most as many as are still free: one alone has half of all,
 * and each of n that take what they can one in n + 1, so whoever comes next finds some. (Choudhury and Hahne, Dynamic Queue Length
 * Thresholds for Shared-Memory Packet Switches, 1998, with α = 1.) Callers of no tenant have whatever is free. Must not know what for.
 */

import type { TenantId } from '@tidemark/core';

export class Room<Taker extends string = TenantId> {
  readonly #maxCount: number;
  readonly #counts = new Map<Taker | null, number>();
  #takenCount = 0;

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
  }

  /** By all together. */
  get takenCount(): number {
    return this.#takenCount;
  }

  countOf(taker: Taker | null): number {
    return this.#counts.get(taker) ?? 0;
  }

  hasFor(taker: Taker | null): boolean {
    const freeCount = this.#maxCount - this.#takenCount;
    return taker === null ? freeCount > 0 : this.countOf(taker) < freeCount;
  }

  /** Whoever has begun takes them in any case. What is returned gives them back, once. */
  take(taker: Taker | null, count = 1): () => void {
    this.#add(taker, count);
    let isTaken = true;
    return () => {
      if (isTaken) this.#add(taker, -count);
      isTaken = false;
    };
  }

  #add(taker: Taker | null, count: number): void {
    this.#takenCount += count;
    const own = this.countOf(taker) + count;
    if (own === 0) this.#counts.delete(taker);
    else this.#counts.set(taker, own);
  }
}
