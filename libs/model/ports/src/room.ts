/**
 * Owns a fixed number of places that callers take and give back. A tenant has at most as many as are still free: a single one gets half of
 * all, and each of n that take all they can gets one in n + 1, so the next one always finds some. (Choudhury and Hahne, Dynamic Queue
 * Length Thresholds for Shared-Memory Packet Switches, 1998, with α = 1.) Callers without a tenant may take any free place. Must not know
 * what the places are for.
 */

import type { TenantId } from '@tidemark/core';

export class Room<Taker extends string = TenantId> {
  readonly #maxCount: number;
  readonly #counts = new Map<Taker | null, number>();
  #takenCount = 0;

  constructor(maxCount: number) {
    this.#maxCount = maxCount;
  }

  /** Taken by all callers together. */
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

  /**
   * Takes places even when none is free: callers ask `hasFor` before they begin. The returned function gives them back; a second call does
   * nothing.
   */
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
