/**
 * Owns which tenant may have a consumer's next slot. Where more than one tenant has work, some free slots are kept for those that run less
 * than their share here, so that whoever comes with little doesn't wait until another's long steps end: a few in any case, and beyond them
 * what such tenants ran lately and don't run now. Invariant: 0 ≤ free ≤ concurrency.
 */

import type { TenantId } from '@tidemark/core';

/** Of a consumer's slots one in so many is kept in any case, and one at least where it has this many. */
const KEPT_SHARE = 16;
const KEPT_FROM_CONCURRENCY = 8;
/** No more than one in so many is kept. */
const KEPT_MAX_SHARE = 4;
/** What a tenant ran at most counts for one to two times so many jobs for each slot. */
const PEAK_ROUNDS = 32;
/** A tenant has work while one of the last jobs that began here is its own: of so many. */
const RECENT_JOBS_COUNT = 10_000;

interface Tenant {
  running: number;
  /** Most that ran at once in this period, and in the one before. */
  peak: number;
  formerPeak: number;
  /** How many jobs had begun here with its last. */
  begunAt: number;
}

export class TenantSlots {
  readonly #concurrency: number;
  /** Those that have work, the one whose last job began first in front. */
  readonly #recent = new Map<TenantId, Tenant>();
  readonly #running = new Map<TenantId, Tenant>();
  #begunCount = 0;
  #free: number;
  /** What all of them together ran at most and don't run now. */
  #missing = 0;

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
    return new Set([...this.#running].filter(([, tenant]) => this.#isFull(tenant)).map(([name]) => name));
  }

  /** A slot is taken before it is known for whom. */
  take(): void {
    this.#free -= 1;
  }

  give(): void {
    this.#free += 1;
  }

  /** A job runs in a slot that was taken. */
  begin(name: TenantId): void {
    const tenant = this.#recent.get(name) ?? { running: 0, peak: 0, formerPeak: 0, begunAt: 0 };
    this.#begunCount += 1;
    tenant.begunAt = this.#begunCount;
    this.#count(tenant, 1);
    this.#running.set(name, tenant);
    this.#recent.delete(name);
    this.#recent.set(name, tenant);
    this.#forget();
  }

  /** It has ended, and its slot is free. */
  end(name: TenantId): void {
    const tenant = this.#running.get(name);
    if (tenant !== undefined) {
      this.#count(tenant, -1);
      if (tenant.running === 0) this.#running.delete(name);
    }
    this.give();
  }

  #count(tenant: Tenant, change: 1 | -1): void {
    this.#missing -= missingOf(tenant);
    tenant.running += change;
    tenant.peak = Math.max(tenant.peak, tenant.running);
    this.#missing += missingOf(tenant);
  }

  /** Whoever has begun nothing for long, and the peaks of a time that is over. */
  #forget(): void {
    for (const [name, tenant] of this.#recent) {
      if (tenant.begunAt > this.#begunCount - RECENT_JOBS_COUNT) break;
      if (tenant.running > 0) continue;
      this.#missing -= missingOf(tenant);
      this.#recent.delete(name);
    }
    if (this.#begunCount % (PEAK_ROUNDS * this.#concurrency) !== 0) return;
    this.#missing = 0;
    for (const tenant of this.#recent.values()) {
      tenant.formerPeak = tenant.peak;
      tenant.peak = tenant.running;
      this.#missing += missingOf(tenant);
    }
  }

  #isFull({ running }: Tenant): boolean {
    return running >= this.#concurrency / (this.#running.size + 1);
  }

  #kept(): number {
    if (this.#concurrency < KEPT_FROM_CONCURRENCY || this.#recent.size < 2) return 0;
    let missing = this.#missing;
    for (const tenant of this.#running.values()) if (this.#isFull(tenant)) missing -= missingOf(tenant);
    const least = Math.max(1, Math.floor(this.#concurrency / KEPT_SHARE));
    return Math.min(least + missing, Math.floor(this.#concurrency / KEPT_MAX_SHARE));
  }
}

const missingOf = ({ running, peak, formerPeak }: Tenant): number => Math.max(peak, formerPeak) - running;

/** Runs so many pieces of work at once; the rest waits its turn, first come, first served. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
