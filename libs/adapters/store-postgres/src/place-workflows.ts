/**
 * Owns which partition a workflow gets. `assign` decides, purely; `placeWorkflows` reads and writes around it, in one transaction of two
 * round trips. The rules:
 *
 * - of the workflows of one session, one is live at a time.
 * - of workflows that exclude each other (`unless`), the first is placed, for good.
 * - exclusive: the first partition without a live workflow, with the next generation there.
 * - beside another: the same, or while none is free the partition of that one, if it may be joined (`mayJoin`).
 * - shared: of the partitions without a live workflow and those of the same tenant, one with the fewest live workflows. A partition with
 *   another tenant's live workflow is never taken.
 * - where the rules keep some partitions free, a tenant takes one of the last only while it has few (`mayTakeFree`).
 * - of limited requests no more are placed than the rules let be live.
 */

import { type Generation, type Partition, type TenantId, UnavailableError, type WorkflowId } from '@tidemark/core';
import {
  mayJoin,
  mayTakeFree,
  type Placed,
  type Placement,
  type PlacementRefused,
  type PlacementRequest,
  type PlacementRules,
  type PlaceTaken,
} from '@tidemark/ports';
import { findUnappended, isStale, renewStale } from './sql/appended.ts';
import {
  commitDurably,
  findPlacements,
  freePartitions,
  insertPlacements,
  joinedPartitions,
  liveOfSessions,
  lockPlacing,
  type NewPlacement,
  openCounts,
  ownedPartitions,
  sharedPartitions,
  type TakenPartition,
  takePartitions,
} from './sql/place.ts';
import { readReadiness } from './sql/readiness.ts';
import {
  BEGIN,
  booleanAt,
  COMMIT,
  nullableText,
  numberAt,
  ROLLBACK,
  type Row,
  type SqlClient,
  textAt,
} from './sql-client.ts';

/** A partition that may be taken; its row is locked. */
export interface Candidate {
  readonly partition: Partition;
  readonly placedGeneration: number;
  readonly live: number;
  /** Tenant of the live workflows. */
  readonly tenant: TenantId | null;
}

export interface Assignment {
  readonly placed: readonly NewPlacement[];
  readonly taken: readonly TakenPartition[];
}

/**
 * Gives each request a partition, in order, and skips requests for which there is none. `owned`: the number of partitions in which a tenant
 * has a live workflow. `homes`: the partitions, among the candidates, of workflows to join.
 */
export function assign(
  requests: readonly PlacementRequest[],
  candidates: readonly Candidate[],
  rules: PlacementRules = {},
  owned: ReadonlyMap<TenantId, number> = new Map(),
  homes: ReadonlyMap<WorkflowId, Partition> = new Map(),
): Assignment {
  const byPartition = new Map(candidates.map((candidate) => [candidate.partition, { ...candidate, taken: false }]));
  const pool = [...byPartition.values()].sort((a, b) => a.live - b.live || a.partition - b.partition);
  const placed: NewPlacement[] = [];
  const ownCounts = new Map(owned);
  let firstFree = 0;
  let freeCount = pool.filter(({ live }) => live === 0).length;
  for (const request of requests) {
    while (pool[firstFree] !== undefined && pool[firstFree]!.live > 0) firstFree += 1;
    const ownCount = ownCounts.get(request.tenant) ?? 0;
    let chosen = mayTakeFree(ownCount, freeCount, rules) ? pool[firstFree] : undefined;
    const home = request.beside && byPartition.get(homes.get(request.beside)!);
    if (chosen === undefined && mayJoin(request.tenant, home)) chosen = home;
    if (chosen === undefined && request.mode === 'shared') {
      for (const own of pool) {
        if (own.tenant === request.tenant && (chosen === undefined || own.live < chosen.live)) chosen = own;
      }
    }
    if (chosen === undefined) continue;
    if (chosen.live === 0) {
      freeCount -= 1;
      ownCounts.set(request.tenant, ownCount + 1);
    }
    chosen.live += 1;
    chosen.placedGeneration += 1;
    chosen.tenant = request.tenant;
    chosen.taken = true;
    const generation = chosen.placedGeneration as Generation;
    placed.push({ ...request, partition: chosen.partition, generation, created: true, appended: false });
  }
  const taken = pool
    .filter((candidate) => candidate.taken)
    .map(({ partition, placedGeneration, live, tenant }) => ({ partition, placedGeneration, live, tenant: tenant! }));
  return { placed, taken };
}

export async function placeWorkflows(
  client: SqlClient,
  requests: readonly PlacementRequest[],
  rules: PlacementRules = {},
): Promise<readonly Placed[]> {
  const distinct = distinctRequests(requests);
  if (distinct.length === 0) return [];
  // Skips partitions that the projector is writing, and joins none, unless that leaves too few.
  return (await attempt(client, distinct, rules, true)) ?? (await attempt(client, distinct, rules, false)) ?? [];
}

/** Keeps the first request for each id. */
function distinctRequests(requests: readonly PlacementRequest[]): readonly PlacementRequest[] {
  const first = new Map<WorkflowId, PlacementRequest>();
  for (const request of requests) {
    if (!first.has(request.workflow)) first.set(request.workflow, request);
  }
  return [...first.values()];
}

/** Returns undefined when some request got nothing although `skip` skipped partitions. */
async function attempt(
  client: SqlClient,
  requests: readonly PlacementRequest[],
  rules: PlacementRules,
  skip: boolean,
): Promise<readonly Placed[] | undefined> {
  const { keepFreeCount = 0 } = rules;
  const tenants = tenantsOf(requests.filter(({ mode }) => mode === 'shared'));
  const limited = hasOpenMax(rules) ? tenantsOf(requests.filter(({ isLimited }) => isLimited)) : [];
  const sharing = tenants.length === 0 ? [] : [sharedPartitions(tenants, requests.length)];
  const inSessions = requests.filter(({ session }) => session !== null);
  const taking = inSessions.length === 0 ? [] : [liveOfSessions(inSessions)];
  return await client.session(async (runner) => {
    const [, , , ready, found, joined = [], free, open, owned, ...more] = await runner.run([
      BEGIN,
      commitDurably,
      lockPlacing,
      readReadiness,
      findPlacements(requests.flatMap(({ workflow, unless = [] }) => [workflow, ...unless])),
      joinedPartitions(skip ? [] : requests.flatMap(({ beside }) => beside ?? [])),
      freePartitions(requests.length + keepFreeCount, skip),
      openCounts(limited),
      ownedPartitions(keepFreeCount > 0 ? tenantsOf(requests) : []),
      ...sharing,
      ...taking,
    ]);
    const shared = sharing.length === 0 ? [] : (more[0] ?? []);
    const live = taking.length === 0 ? [] : (more.at(-1) ?? []);
    if (!ready?.some((row) => booleanAt(row, 0))) {
      throw new UnavailableError('store-rebuilding', 'Placements are being rebuilt from the log; try again later');
    }
    const known = new Map((found ?? []).map(placementOf).map((placement) => [placement.workflow, placement]));
    const unplaced = requests.filter((request) => !known.has(request.workflow));
    const refused = new Map<WorkflowId, PlaceTaken | PlacementRefused>([
      ...sessionsTaken(unplaced, live),
      ...tooMany(unplaced, rules, open ?? []),
    ]);
    const admitted = unplaced.filter((request) => !refused.has(request.workflow));
    for (const no of excluded(admitted, known)) refused.set(no.workflow, no);
    const fresh = admitted.filter((request) => !refused.has(request.workflow));
    const { placed, taken } = assign(
      fresh,
      [...joined, ...(free ?? []), ...shared].map(candidateOf),
      rules,
      new Map((owned ?? []).map((row) => [textAt(row, 0) as TenantId, numberAt(row, 1)])),
      new Map(joined.map((row) => [textAt(row, 4) as WorkflowId, numberAt(row, 0) as Partition])),
    );
    if (skip && placed.length < fresh.length) {
      await runner.run([ROLLBACK]);
      return undefined;
    }
    await runner.run(placed.length === 0 ? [COMMIT] : [insertPlacements(placed), takePartitions(taken), COMMIT]);
    const made = new Map<WorkflowId, Placement>(
      placed.map(({ session: _, ...placement }) => [placement.workflow, placement]),
    );
    const isThere = (no: PlaceTaken | PlacementRefused): boolean =>
      'refusedBy' in no || made.has(no.takenBy) || !fresh.some((request) => request.workflow === no.takenBy);
    return requests.flatMap(({ workflow }) => {
      const no = refused.get(workflow);
      return known.get(workflow) ?? made.get(workflow) ?? (no !== undefined && isThere(no) ? no : []);
    });
  });
}

const tenantsOf = (requests: readonly PlacementRequest[]): readonly TenantId[] => [
  ...new Set(requests.map(({ tenant }) => tenant)),
];

const hasOpenMax = ({ tenantOpenMax, openMax }: PlacementRules): boolean =>
  tenantOpenMax !== undefined || openMax !== undefined;

/** Returns limited requests beyond what may be live, in order. `open`: tenant, its live workflows, all live workflows. */
function tooMany(
  requests: readonly PlacementRequest[],
  { tenantOpenMax = Number.POSITIVE_INFINITY, openMax = Number.POSITIVE_INFINITY }: PlacementRules,
  open: readonly Row[],
): ReadonlyMap<WorkflowId, PlacementRefused> {
  const counts = new Map(open.map((row) => [textAt(row, 0), numberAt(row, 1)]));
  let all = open[0] === undefined ? 0 : numberAt(open[0], 2);
  const refused = new Map<WorkflowId, PlacementRefused>();
  for (const { workflow, tenant, isLimited = false } of requests) {
    const own = counts.get(tenant);
    if (!isLimited || own === undefined) continue;
    if (own >= tenantOpenMax || all >= openMax) {
      refused.set(workflow, { workflow, refusedBy: own >= tenantOpenMax ? 'tenantOpenMax' : 'openMax' });
      continue;
    }
    counts.set(tenant, own + 1);
    all += 1;
  }
  return refused;
}

/** Returns requests whose session has a live workflow, or an earlier request. `live`: tenant, session, workflow. */
function sessionsTaken(
  requests: readonly PlacementRequest[],
  live: readonly Row[],
): ReadonlyMap<WorkflowId, PlaceTaken> {
  const named = (tenant: string, session: string): string => JSON.stringify([tenant, session]);
  const holders = new Map(live.map((row) => [named(textAt(row, 0), textAt(row, 1)), textAt(row, 2) as WorkflowId]));
  const refused = new Map<WorkflowId, PlaceTaken>();
  for (const { workflow, tenant, session } of requests) {
    if (session === null) continue;
    const takenBy = holders.get(named(tenant, session));
    if (takenBy === undefined) holders.set(named(tenant, session), workflow);
    else refused.set(workflow, { workflow, takenBy });
  }
  return refused;
}

/** Returns requests beside which a workflow that they are not to be placed with is placed, or asked for earlier. */
function excluded(
  requests: readonly PlacementRequest[],
  known: ReadonlyMap<WorkflowId, unknown>,
): readonly PlaceTaken[] {
  const there = new Set(known.keys());
  return requests.flatMap(({ workflow, unless = [] }) => {
    const takenBy = unless.find((each) => there.has(each));
    if (takenBy !== undefined) return [{ workflow, takenBy }];
    there.add(workflow);
    return [];
  });
}

/** Sorts by generation. Placements whose generation the fold has passed first get a new one, which is rare. */
export async function unappendedPlacements(
  client: SqlClient,
  ageMs: number,
  limit: number,
): Promise<readonly Placement[]> {
  const find = findUnappended(ageMs, limit);
  const [found = []] = await client.run([find]);
  if (!found.some(isStale)) return found.map(placementOf);
  const results = await client.run([BEGIN, commitDurably, lockPlacing, renewStale(ageMs), find, COMMIT]);
  return (results[4] ?? []).map(placementOf);
}

const placementOf = (row: Row): Placement => ({
  workflow: textAt(row, 0) as WorkflowId,
  tenant: textAt(row, 1) as TenantId,
  partition: numberAt(row, 2) as Partition,
  generation: numberAt(row, 3) as Generation,
  mode: textAt(row, 4) as Placement['mode'],
  opening: textAt(row, 5),
  appended: booleanAt(row, 6),
  created: false,
});

const candidateOf = (row: Row): Candidate => ({
  partition: numberAt(row, 0) as Partition,
  placedGeneration: numberAt(row, 1),
  live: numberAt(row, 2),
  tenant: nullableText(row, 3) as TenantId | null,
});
