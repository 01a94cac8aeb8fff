import type { Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { PlacementRequest } from '@tidemark/ports';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assign, type Candidate } from './place-workflows.ts';

const tenants = ['a', 'b', 'c'] as const;
const requests = fc.array(
  fc.record({ tenant: fc.constantFrom(...tenants), shared: fc.boolean(), beside: fc.option(fc.nat(12)) }),
  { maxLength: 30 },
);
const partitions = fc.array(
  fc.record({ live: fc.nat(8), tenant: fc.constantFrom(...tenants), generation: fc.nat(9) }),
  {
    maxLength: 12,
  },
);

const asRequests = (
  made: readonly { tenant: string; shared: boolean; beside?: number | null }[],
): (PlacementRequest & { readonly home: number | null })[] =>
  made.map(({ tenant, shared, beside = null }, n) => ({
    workflow: `w-${n}` as WorkflowId,
    tenant: tenant as TenantId,
    mode: shared ? 'shared' : 'exclusive',
    beside: beside === null ? undefined : (`home-${beside}` as WorkflowId),
    home: beside,
    session: null,
    opening: '{}',
  }));

const asCandidates = (made: readonly { live: number; tenant: string; generation: number }[]): Candidate[] =>
  made.map(({ live, tenant, generation }, n) => ({
    partition: n as Partition,
    placedGeneration: generation,
    live,
    tenant: live === 0 ? null : (tenant as TenantId),
  }));

describe('assign', () => {
  test('exclusive ones get a free partition, those beside another its own where none is free and that has room, nobody joins another tenant, nobody is left out for nothing', () => {
    fc.assert(
      fc.property(requests, partitions, (asked, there) => {
        const candidates = asCandidates(there);
        const homes = new Map(candidates.map(({ partition }) => [`home-${partition}` as WorkflowId, partition]));
        const { placed, taken } = assign(asRequests(asked), candidates, {}, new Map(), homes);
        const live = candidates.map((candidate) => candidate.live);
        const owner = candidates.map((candidate) => candidate.tenant);
        const generation = candidates.map((candidate) => candidate.placedGeneration);
        const byWorkflow = new Map(placed.map((placement) => [placement.workflow, placement]));
        for (const request of asRequests(asked)) {
          const placement = byWorkflow.get(request.workflow);
          const free = live.includes(0);
          const own = live.some((count, n) => count > 0 && owner[n] === request.tenant);
          const { home } = request;
          const joins = home !== null && owner[home] === request.tenant && live[home]! > 0 && live[home]! < 8;
          expect(placement !== undefined).toBe(joins || free || (request.mode === 'shared' && own));
          if (placement === undefined) continue;
          const at = placement.partition;
          if (free) expect(live[at]).toBe(0);
          else if (joins) expect(at).toBe(home);
          else expect(owner[at]).toBe(request.tenant);
          live[at]! += 1;
          generation[at]! += 1;
          owner[at] = request.tenant;
          expect(placement.generation).toBe(generation[at]);
        }
        for (const { partition, ...rest } of taken) {
          expect(rest).toEqual({
            placedGeneration: generation[partition],
            live: live[partition],
            tenant: owner[partition],
          });
        }
        expect(new Set(placed.map((placement) => placement.partition)).size).toBe(taken.length);
      }),
    );
  });

  test('the last free partitions are for tenants that have none', () => {
    const flood = asRequests(Array.from({ length: 9 }, (_, n) => ({ tenant: 'a', shared: n > 6 })));
    const newTenants = asRequests([
      { tenant: 'b', shared: false },
      { tenant: 'c', shared: true },
    ]).map((request) => ({ ...request, workflow: `new-${request.workflow}` as WorkflowId }));
    const pool = asCandidates(Array.from({ length: 6 }, () => ({ live: 0, tenant: 'a', generation: 0 })));
    const { placed } = assign([...flood, ...newTenants], pool, { keepFreeCount: 2 });
    const names = placed.map(({ workflow }) => workflow as string);
    // The flood gets four of the six; tenants that may share join them; each new tenant gets one of the two that were kept.
    expect(names).toEqual(['w-0', 'w-1', 'w-2', 'w-3', 'w-7', 'w-8', 'new-w-0', 'new-w-1']);
    expect(new Set(placed.map(({ partition }) => partition)).size).toBe(6);
  });

  test('sharing spreads over a tenant’s partitions evenly', () => {
    const shared = Array.from({ length: 10 }, () => ({ tenant: 'a', shared: true }));
    const { taken } = assign(
      asRequests(shared),
      asCandidates([0, 0, 1].map((live) => ({ live, tenant: 'a', generation: 0 }))),
    );
    expect(taken.map((one) => one.live).sort()).toEqual([3, 4, 4]);
  });
});
