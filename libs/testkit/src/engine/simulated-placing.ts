/** Owns where the simulated store places a workflow, by the rules of placing. Pure. */

import type { Partition, TenantId } from '@tidemark/core';
import {
  mayJoin,
  mayTakeFree,
  type Placement,
  type PlacementRefused,
  type PlacementRequest,
  type PlacementRules,
} from '@tidemark/ports';

type Known = Iterable<Pick<Placement, 'workflow' | 'partition' | 'tenant'> & { readonly live: boolean }>;

export function refusalOf(
  { isLimited, tenant }: PlacementRequest,
  { tenantOpenMax, openMax }: PlacementRules,
  placements: Known,
): PlacementRefused['refusedBy'] | undefined {
  if (!isLimited) return undefined;
  const live = [...placements].filter((placed) => placed.live);
  const isOver = (count: number, max = Number.POSITIVE_INFINITY): boolean => count >= max;
  if (isOver(live.filter((placed) => placed.tenant === tenant).length, tenantOpenMax)) return 'tenantOpenMax';
  return isOver(live.length, openMax) ? 'openMax' : undefined;
}

/** The first free one that the tenant may take, or that of the workflow to join, or its own with the fewest live workflows where it may share. */
export function partitionFor(
  { mode, tenant, beside }: PlacementRequest,
  rules: PlacementRules,
  all: readonly Partition[],
  placements: Known,
): Partition | undefined {
  const tenants = new Map<Partition, TenantId>();
  const liveCounts = new Map<Partition, number>();
  let joined: Partition | undefined;
  for (const { workflow, partition, tenant: owner, live } of placements) {
    if (!live) continue;
    if (workflow === beside) joined = partition;
    tenants.set(partition, owner);
    liveCounts.set(partition, (liveCounts.get(partition) ?? 0) + 1);
  }
  const free = all.filter((partition) => !tenants.has(partition));
  const ownCount = [...tenants.values()].filter((owner) => owner === tenant).length;
  const [first] = mayTakeFree(ownCount, free.length, rules) ? free : [];
  if (first !== undefined) return first;
  if (joined !== undefined && mayJoin(tenant, { live: liveCounts.get(joined)!, tenant: tenants.get(joined)! }))
    return joined;
  if (mode === 'exclusive') return undefined;
  const own = all.filter((partition) => tenants.get(partition) === tenant);
  return own.sort((a, b) => liveCounts.get(a)! - liveCounts.get(b)! || a - b)[0];
}

/** What a caller is told of a placement. */
export const placementOf = (row: Omit<Placement, 'created'>, created: boolean): Placement => {
  const { workflow, tenant, partition, generation, mode, opening, appended } = row;
  return { workflow, tenant, partition, generation, mode, opening, created, appended };
};
