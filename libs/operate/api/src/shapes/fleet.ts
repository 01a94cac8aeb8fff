/** Owns one view of all workflows together: counts, lag, workers, paused queues. The caller caches costly parts. */

import type { TenantId } from '@tidemark/core';
import type { LeaseRow, SpentHour, StatusCount, StoreCounts } from '@tidemark/ports';
import type { Client, PausedQueue, Ports } from '@tidemark/runtime';
import { LIVENESS_MARKER_MS } from '../limits.ts';

export interface FleetView {
  readonly statuses: readonly StatusCount[];
  readonly counts: StoreCounts;
  readonly isReady: boolean;
  /** Events that rows hold; its rise is what was projected. */
  readonly eventCount: number;
  readonly lagCount: number;
  readonly laggingPartitionCount: number;
  readonly workers: readonly { readonly holder: string; readonly isAlive: boolean; readonly heldCount: number }[];
  readonly queued: ReadonlyMap<string, number>;
  readonly held: readonly PausedQueue[];
  readonly spentHours: readonly SpentHour[];
}

interface FleetSource {
  readonly ports: Pick<Ports, 'store' | 'log' | 'liveness' | 'queue' | 'clock'>;
  readonly client: Pick<Client, 'queues'>;
}

/** Null: of all tenants. `names`: definitions whose jobs are counted. A tenant sees only workers that hold something of its own. */
export async function fleetView(
  { ports, client }: FleetSource,
  names: readonly string[],
  tenant: TenantId | null,
): Promise<FleetView> {
  const { store, log, liveness, queue, clock } = ports;
  const [statuses, counts, isReady, spentHours] = await Promise.all([
    store.statusCounts(tenant),
    store.counts(),
    store.ready(),
    store.spentHours(tenant, clock.nowMs() - 24 * 3_600_000),
  ]);
  const [positions, bounds] = [await store.positions(), await log.bounds()];
  let [eventCount, lagCount, laggingPartitionCount] = [0, 0, 0];
  for (const [partition, { start, end }] of bounds) {
    const next = positions.get(partition) ?? start;
    eventCount += next;
    if (end <= next) continue;
    lagCount += end - next;
    laggingPartitionCount++;
  }
  const alive = (await liveness.view({ markerAgeMs: LIVENESS_MARKER_MS })).holders;
  const queued = names.length === 0 ? new Map<string, number>() : await queue.depth(names);
  const held = isReady ? await client.queues.held(tenant) : [];
  const leases = await store.leases();
  const own = tenant === null ? leases : leases.filter((lease) => lease.tenant === tenant);
  const workers = workersOf(own, new Set(alive.keys())).filter(({ heldCount }) => tenant === null || heldCount > 0);
  return { statuses, counts, isReady, eventCount, lagCount, laggingPartitionCount, workers, queued, held, spentHours };
}

function workersOf(leases: readonly LeaseRow[], alive: ReadonlySet<string>): FleetView['workers'] {
  const held = new Map<string, number>([...alive].map((holder) => [holder, 0]));
  for (const { holder } of leases) held.set(holder, (held.get(holder) ?? 0) + 1);
  return [...held]
    .map(([holder, heldCount]) => ({ holder, isAlive: alive.has(holder), heldCount }))
    .sort((a, b) => b.heldCount - a.heldCount || (a.holder < b.holder ? -1 : 1));
}
