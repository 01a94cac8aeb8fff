/** Owns where the simulated store places a workflow, by the rules of placing. Pure. */

import type { Partition, TenantId } from '@tidemark/core';
import {
  mayTakeFree,
  type Placement,
  type PlacementRefused,
  type PlacementRequest,
  type PlacementRules,
} from '@tidemark/ports';

type Known = Iterable<Pick<Placement, 'partition' | 'tenant'> & { readonly live: boolean }>;

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

/** The first free partition that the tenant may take, or one of its own where it may share. */
export function partitionFor(
  { mode, tenant }: PlacementRequest,
  rules: PlacementRules,
  all: readonly Partition[],
  placements: Known,
): Partition | undefined {
  const tenants = new Map<Partition, TenantId>();
  for (const { partition, tenant: owner, live } of placements) if (live) tenants.set(partition, owner);
  const free = all.filter((partition) => !tenants.has(partition));
  const ownCount = [...tenants.values()].filter((owner) => owner === tenant).length;
  const [first] = mayTakeFree(ownCount, free.length, rules) ? free : [];
  if (first !== undefined || mode === 'exclusive') return first;
  return all.find((partition) => tenants.get(partition) === tenant);
}
