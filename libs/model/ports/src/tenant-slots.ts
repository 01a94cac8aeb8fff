/**
 * Owns which tenant may have a consumer's next slot. When more than one tenant has work, some free slots are reserved for tenants that run
 * less than their share here, so that a small one doesn't wait until another's long steps end. The reserve is a fixed part, plus as many
 * slots as such tenants ran lately and don't run now. Invariant: 0 ≤ free ≤ concurrency. A narrowed consumer's slots are fewer.
 */

import type { TenantId } from '@tidemark/core';

/** One in this many slots is always reserved; a consumer with at least this many reserves at least one. */
const KEPT_SHARE = 16;
const KEPT_FROM_CONCURRENCY = 8;
/** At most one in this many slots is reserved. */
const KEPT_MAX_SHARE = 4;
/** A tenant's peak counts while one to two times this many jobs per slot begin. */
const PEAK_ROUNDS = 32;
/** A tenant has work while one of this many last jobs that began here is its own. */
const RECENT_JOBS_COUNT = 10_000;

interface Tenant {
  running: number;
  /** The most that ran at once in this period, and in the one before. */
  peak: number;
  formerPeak: number;
  /** The number of jobs that had begun here when its last one began. */
  begunAt: number;
}

export class TenantSlots {
  readonly #concurrency: number;
  /** Tenants that have work, ordered by the beginning of their last job, the oldest first. */
  readonly #recent = new Map<TenantId, Tenant>();
  readonly #running = new Map<TenantId, Tenant>();
  #begunCount = 0;
  #free: number;
  /** How many slots are out of use for now. */
  #shut = 0;
  /** The sum of what they ran at their peaks and don't run now. */
  #missing = 0;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
    this.#free = concurrency;
  }

  get #usable(): number {
    return this.#concurrency - this.#shut;
  }

  get free(): number {
    return Math.max(0, this.#free - this.#shut);
  }

  /** Free slots that any tenant may have. */
  get open(): number {
    return Math.max(0, this.free - this.#kept());
  }

  /** Tenants that may have none of the reserved slots: they run their share, counting one more tenant. */
  get full(): ReadonlySet<TenantId> {
    return new Set([...this.#running].filter(([, tenant]) => this.#isFull(tenant)).map(([name]) => name));
  }

  /** Uses at most so many slots from now on; undefined: all. Those taken stay taken. */
  narrow(max = this.#concurrency): void {
    this.#shut = Math.max(0, this.#concurrency - max);
  }

  /** Takes a slot before its tenant is known. */
  take(): void {
    this.#free -= 1;
  }

  give(): void {
    this.#free += 1;
  }

  /** A job begins in a slot that was taken. */
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

  /** The job has ended, and its slot is free. */
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

  /** Drops tenants that have begun nothing for long, and peaks of periods that are over. */
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
    return running >= this.#usable / (this.#running.size + 1);
  }

  #kept(): number {
    if (this.#usable < KEPT_FROM_CONCURRENCY || this.#recent.size < 2) return 0;
    let missing = this.#missing;
    for (const tenant of this.#running.values()) if (this.#isFull(tenant)) missing -= missingOf(tenant);
    const least = Math.max(1, Math.floor(this.#usable / KEPT_SHARE));
    return Math.min(least + missing, Math.floor(this.#usable / KEPT_MAX_SHARE));
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
