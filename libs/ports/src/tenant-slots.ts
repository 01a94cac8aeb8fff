/**
 * Owns which tenant may have a consumer's next slot. Where more than one tenant has work, the last free slots are kept for those that
 * run less than their share here, so that whoever comes with little doesn't wait until another's long steps end. Invariant: 0 ≤ free ≤ concurrency.
 */

import type { TenantId } from '@tidemark/core';

/** Of a consumer's slots one in so many is kept, and one at least where it has this many. */
const KEPT_SHARE = 16;
const KEPT_FROM_CONCURRENCY = 8;
/** A tenant has work while one of the last jobs that began here is its own: of so many. */
const RECENT_JOBS_COUNT = 10_000;

export class TenantSlots {
  readonly #concurrency: number;
  readonly #running = new Map<TenantId, number>();
  /** How many jobs had begun here with the last of each, the oldest first. */
  readonly #recent = new Map<TenantId, number>();
  #begunCount = 0;
  #free: number;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
    this.#free = concurrency;
  }

  get free(): number {
    return this.#free;
  }

  /** Free slots that any tenant may have. */
  get open(): number {
    return Math.max(0, this.#free - this.#kept());
  }

  /** Tenants that may have none of the kept slots: they run their share, were one more tenant here. */
  get full(): ReadonlySet<TenantId> {
    const share = this.#concurrency / (this.#running.size + 1);
    return new Set([...this.#running].filter(([, count]) => count >= share).map(([tenant]) => tenant));
  }

  /** A slot is taken before it is known for whom. */
  take(): void {
    this.#free -= 1;
  }

  give(): void {
    this.#free += 1;
  }

  /** A job runs in a slot that was taken. */
  begin(tenant: TenantId): void {
    this.#running.set(tenant, (this.#running.get(tenant) ?? 0) + 1);
    this.#begunCount += 1;
    this.#recent.delete(tenant);
    this.#recent.set(tenant, this.#begunCount);
    for (const [other, at] of this.#recent) {
      if (at > this.#begunCount - RECENT_JOBS_COUNT) break;
      this.#recent.delete(other);
    }
  }

  /** It has ended, and its slot is free. */
  end(tenant: TenantId): void {
    const left = (this.#running.get(tenant) ?? 1) - 1;
    if (left === 0) this.#running.delete(tenant);
    else this.#running.set(tenant, left);
    this.give();
  }

  #kept(): number {
    if (this.#concurrency < KEPT_FROM_CONCURRENCY || this.#recent.size < 2) return 0;
    return Math.max(1, Math.floor(this.#concurrency / KEPT_SHARE));
  }
}
