/** Owns the state of all workflows together: counts, lag, workers and throughput. Expensive counts are shared by all callers of a moment. */

import type { TenantId } from '@tidemark/core';
import type { Backend } from './backend.ts';
import { fleetJson } from './shapes/fleet.ts';

/** Age up to which a view of the fleet is returned again, in milliseconds. */
const FLEET_KEPT_MS = 2_000;
/** How often the rate of events is sampled, in milliseconds, and samples that are kept: ten minutes. */
const FLEET_SAMPLE_PERIOD_MS = 5_000;
const FLEET_SAMPLES_MAX_COUNT = 121;

interface Sample {
  readonly atMs: number;
  readonly eventCount: number;
}

export class Fleet {
  readonly #backend: Backend;
  readonly #views = new Map<string, { readonly atMs: number; readonly view: ReturnType<typeof fleetJson> }>();
  readonly #samples: Sample[] = [];
  readonly #sampler: NodeJS.Timeout;

  constructor(backend: Backend) {
    this.#backend = backend;
    this.#sampler = setInterval(() => void this.#sample().catch(() => {}), FLEET_SAMPLE_PERIOD_MS);
    this.#sampler.unref();
    void this.#sample().catch(() => {});
  }

  close(): void {
    clearInterval(this.#sampler);
  }

  /** Null: of all tenants. A tenant sees only workers that hold something of its own. */
  view(tenant: TenantId | null): ReturnType<typeof fleetJson> {
    const nowMs = performance.now();
    const known = this.#views.get(tenant ?? '');
    if (known !== undefined && nowMs - known.atMs < FLEET_KEPT_MS) return known.view;
    for (const [key, { atMs }] of this.#views) if (nowMs - atMs >= FLEET_KEPT_MS) this.#views.delete(key);
    const names = new Set(this.#backend.definitions.map(({ name }) => name));
    const view = fleetJson(this.#backend, [...names], tenant);
    this.#views.set(tenant ?? '', { atMs: nowMs, view });
    view.catch(() => this.#views.delete(tenant ?? ''));
    return view;
  }

  async #sample(): Promise<void> {
    const positions = await this.#backend.ports.store.positions();
    let eventCount = 0;
    for (const next of positions.values()) eventCount += next;
    this.#samples.push({ atMs: performance.now(), eventCount });
    if (this.#samples.length > FLEET_SAMPLES_MAX_COUNT) this.#samples.shift();
  }

  /** Events projected per second over the last so many milliseconds; null: not measured for that long yet. */
  eventsPerSecond(windowMs: number): number | null {
    const newest = this.#samples.at(-1);
    const oldest = this.#samples.find(({ atMs }) => newest !== undefined && newest.atMs - atMs <= windowMs);
    if (newest === undefined || oldest === undefined || newest === oldest) return null;
    const perMs = Math.max(newest.eventCount - oldest.eventCount, 0) / (newest.atMs - oldest.atMs);
    return Math.round(perMs * 10_000) / 10;
  }
}
