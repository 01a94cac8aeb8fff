/** Owns how every entry point shows all workflows together: counts, lag, workers, paused queues. The caller caches costly parts. */

import { isoTime, spendJson, type TenantId } from '@tidemark/core';
import type { LeaseRow } from '@tidemark/ports';
import type { Client, Ports } from '@tidemark/runtime';

/** Age of the coordinators' marker from which on a beat proves anything, in milliseconds. */
export const LIVENESS_MARKER_MS = 2_000;

interface FleetSource {
  readonly ports: Pick<Ports, 'store' | 'log' | 'liveness' | 'queue' | 'clock'>;
  readonly client: Pick<Client, 'queues'>;
}

/** Null: of all tenants. `names`: definitions whose jobs are counted. A tenant sees only workers that hold something of its own. */
export async function fleetJson({ ports, client }: FleetSource, names: readonly string[], tenant: TenantId | null) {
  const { store, log, liveness, queue, clock } = ports;
  const seesAll = tenant === null;
  const [workflows, counts, rows_ready, spentHours] = await Promise.all([
    store.statusCounts(tenant),
    store.counts(),
    store.ready(),
    store.spentHours(tenant, clock.nowMs() - 24 * 3_600_000),
  ]);
  const [positions, bounds] = [await store.positions(), await log.bounds()];
  const lag = { events: 0, partitions: 0 };
  for (const [partition, { start, end }] of bounds) {
    const next = positions.get(partition) ?? start;
    if (end <= next) continue;
    lag.events += end - next;
    lag.partitions++;
  }
  const alive = (await liveness.view({ markerAgeMs: LIVENESS_MARKER_MS })).holders;
  const queued = names.length === 0 ? new Map<string, number>() : await queue.depth(names);
  const held = rows_ready ? await client.queues.held(tenant) : [];
  const leases = await store.leases();
  const own = seesAll ? leases : leases.filter((lease) => lease.tenant === tenant);
  const workers = workersOf(own, alive).filter(({ held_count: count }) => seesAll || count > 0);
  return {
    workflows: [...workflows],
    ready_count: seesAll ? counts.runnableCount : null,
    running_count: workers.reduce((sum, { held_count: count }) => sum + count, 0),
    unappended_count: seesAll ? counts.unappendedCount : null,
    rejected_count: seesAll ? counts.rejectedCount : null,
    rows_ready,
    lag: seesAll ? lag : null,
    partition_count: seesAll ? counts.partitionCount : null,
    workers,
    queued: (seesAll ? [...queued] : []).map(([definition, count]) => ({ definition, count })),
    held_queues: held.map(({ definition, tenant: of, sinceMs }) => ({
      ...{ queue: definition, tenant: of, since: isoTime(sinceMs) },
    })),
    spent: spentHours.map((hour) => ({ hour: isoTime(hour.hourMs), ...spendJson(hour) })),
  };
}

function workersOf(leases: readonly LeaseRow[], alive: ReadonlyMap<string, unknown>) {
  const held = new Map<string, number>([...alive.keys()].map((holder) => [holder, 0]));
  for (const { holder } of leases) held.set(holder, (held.get(holder) ?? 0) + 1);
  return [...held]
    .map(([holder, held_count]) => ({ holder, alive: alive.has(holder), held_count }))
    .sort((a, b) => b.held_count - a.held_count || (a.holder < b.holder ? -1 : 1));
}
