/** Owns what all workflows together are at: counts, lag, workers and throughput. What is costly to count is counted once for all who ask in a moment. */

import type { TenantId } from '@tidemark/core';
import type { LeaseRow, SpentHour, StatusCount, StoreCounts } from '@tidemark/ports';
import type { HeldQueue } from '@tidemark/runtime';
import type { Desk } from './desk.ts';
import { FLEET_KEPT_MS, FLEET_SAMPLE_PERIOD_MS, FLEET_SAMPLES_MAX_COUNT, LIVENESS_MARKER_MS } from './limits.ts';

export interface FleetView {
  readonly statuses: readonly StatusCount[];
  readonly counts: StoreCounts;
  readonly isReady: boolean;
  readonly lagCount: number;
  readonly laggingPartitionCount: number;
  readonly workers: readonly { readonly holder: string; readonly isAlive: boolean; readonly heldCount: number }[];
  readonly queued: ReadonlyMap<string, number>;
  readonly held: readonly HeldQueue[];
  readonly spentHours: readonly SpentHour[];
}

interface Sample {
  readonly atMs: number;
  readonly eventCount: number;
}

export class Fleet {
  readonly #desk: Desk;
  readonly #views = new Map<string, { readonly atMs: number; readonly view: Promise<FleetView> }>();
  readonly #samples: Sample[] = [];
  readonly #sampler: NodeJS.Timeout;

  constructor(desk: Desk) {
    this.#desk = desk;
    this.#sampler = setInterval(() => void this.#sample().catch(() => {}), FLEET_SAMPLE_PERIOD_MS);
    this.#sampler.unref();
    void this.#sample().catch(() => {});
  }

  close(): void {
    clearInterval(this.#sampler);
  }

  /** Null: of all tenants. Of workers a tenant sees those that hold something of its own. */
  view(tenant: TenantId | null): Promise<FleetView> {
    const nowMs = performance.now();
    const known = this.#views.get(tenant ?? '');
    if (known !== undefined && nowMs - known.atMs < FLEET_KEPT_MS) return known.view;
    for (const [key, { atMs }] of this.#views) if (nowMs - atMs >= FLEET_KEPT_MS) this.#views.delete(key);
    const view = this.#look(tenant);
    this.#views.set(tenant ?? '', { atMs: nowMs, view });
    view.catch(() => this.#views.delete(tenant ?? ''));
    return view;
  }

  async #look(tenant: TenantId | null): Promise<FleetView> {
    const { ports, definitions, client } = this.#desk;
    const { store, log, liveness, queue, clock } = ports;
    const [statuses, counts, isReady, spentHours] = await Promise.all([
      store.statusCounts(tenant),
      store.counts(),
      store.ready(),
      store.spentHours(tenant, clock.nowMs() - 24 * 3_600_000),
    ]);
    const [positions, bounds] = [await store.positions(), await log.bounds()];
    let [lagCount, laggingPartitionCount] = [0, 0];
    for (const [partition, { start, end }] of bounds) {
      const lag = end - (positions.get(partition) ?? start);
      if (lag <= 0) continue;
      lagCount += lag;
      laggingPartitionCount++;
    }
    const alive = (await liveness.view({ markerAgeMs: LIVENESS_MARKER_MS })).holders;
    const names = [...new Set(definitions.map(({ name }) => name))];
    const queued = names.length === 0 ? new Map<string, number>() : await queue.depth(names);
    const held = isReady ? await client.queues.held(tenant) : [];
    const leases = await store.leases();
    const own = tenant === null ? leases : leases.filter((lease) => lease.tenant === tenant);
    const workers = workersOf(own, new Set(alive.keys())).filter(({ heldCount }) => tenant === null || heldCount > 0);
    return { statuses, counts, isReady, lagCount, laggingPartitionCount, workers, queued, held, spentHours };
  }

  async #sample(): Promise<void> {
    const positions = await this.#desk.ports.store.positions();
    let eventCount = 0;
    for (const next of positions.values()) eventCount += next;
    this.#samples.push({ atMs: performance.now(), eventCount });
    if (this.#samples.length > FLEET_SAMPLES_MAX_COUNT) this.#samples.shift();
  }

  /** Events projected a second over the last so many milliseconds; null: not looked at for that long yet. */
  eventsPerSecond(windowMs: number): number | null {
    const newest = this.#samples.at(-1);
    const oldest = this.#samples.find(({ atMs }) => newest !== undefined && newest.atMs - atMs <= windowMs);
    if (newest === undefined || oldest === undefined || newest === oldest) return null;
    const perMs = Math.max(newest.eventCount - oldest.eventCount, 0) / (newest.atMs - oldest.atMs);
    return Math.round(perMs * 10_000) / 10;
  }
}

function workersOf(leases: readonly LeaseRow[], alive: ReadonlySet<string>): FleetView['workers'] {
  const held = new Map<string, number>([...alive].map((holder) => [holder, 0]));
  for (const { holder } of leases) held.set(holder, (held.get(holder) ?? 0) + 1);
  return [...held]
    .map(([holder, heldCount]) => ({ holder, isAlive: alive.has(holder), heldCount }))
    .sort((a, b) => b.heldCount - a.heldCount || (a.holder < b.holder ? -1 : 1));
}
