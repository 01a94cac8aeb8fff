/**
 * The statements of placing workflows; `place-workflows.ts` combines them. An advisory lock until commit allows one placing at a time, so
 * concurrent requests for one id give one placement, and no partition is taken in vain. The projector does not take that lock; row locks
 * keep it from the chosen partitions. Cost: 4 ms for 100 new placements, 22 ms for 1,000, and the commit, which waits for the disk: a
 * placement must survive a crash of Postgres, or an id could get a second partition while its first opening is on its way to the log.
 */

import type { Generation, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { PlacedWorkflow, Placement, PlacementRequest } from '@tidemark/ports';
import { textArray, texts } from '../binary-array.ts';
import { excluded, insertion, int4, int8, text } from '../insertion.ts';
import { booleanAt, numberAt, type Row, type Statement, textAt } from '../sql-client.ts';

/** Key of the lock under which workflows are placed; any number. */
const PLACING = 7_401_001;

export const lockPlacing: Statement = {
  name: 'lock-placing',
  text: `select pg_advisory_xact_lock(${PLACING})`,
  values: [],
};

export const commitDurably: Statement = {
  name: 'commit-durably',
  text: 'set local synchronous_commit = on',
  values: [],
};

const known = `
select workflow, tenant, partition, generation, mode, opening, appended from placements where workflow = any($1::text[])`;

/** Existing placements of these ids. Index: primary key. */
export const findPlacements = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'find-placements',
  text: known,
  values: [textArray(workflows)],
});

/** The places of workflows, whether their openings are folded or not. Index: primary key. */
export const findPlaced = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'find-placed',
  text: 'select workflow, tenant, partition, generation, appended from placements where workflow = any($1::text[])',
  values: [textArray(workflows)],
});

export const placedOf = (row: Row): readonly [WorkflowId, PlacedWorkflow] => [
  textAt(row, 0) as WorkflowId,
  {
    tenant: textAt(row, 1) as TenantId,
    partition: numberAt(row, 2) as Partition,
    generation: numberAt(row, 3) as Generation,
    appended: booleanAt(row, 4),
  },
];

const ofSessions = `
select l.tenant, l.session, l.workflow
from (select unnest($1::text[]) as tenant, unnest($2::text[]) as session) given
cross join lateral (
  select tenant, session, workflow from placements
  where live and tenant = given.tenant and session = given.session
    and hashtextextended(session, 0) = hashtextextended(given.session, 0)
  offset 0
) l`;

/** The live workflows of sessions, whether their openings are in the log or not. Index: placements_session. */
export const liveOfSessions = (requests: readonly PlacementRequest[]): Statement => ({
  name: 'live-of-sessions',
  text: ofSessions,
  values: [texts(requests, (row) => row.tenant), texts(requests, (row) => row.session)],
});

/** Partitions without a live workflow, locked; `skip` leaves out those that the projector is writing. Index: partitions_free. */
const free = `
select partition, placed_generation, live, tenant from partitions where live = 0 order by partition limit $1 for update`;

export const freePartitions = (limit: number, skip: boolean): Statement => ({
  name: skip ? 'free-partitions-skip' : 'free-partitions',
  text: skip ? `${free} skip locked` : free,
  values: [String(limit)],
});

/** Each tenant's partitions with the fewest live workflows, locked. Index: partitions_shared. */
const shared = `
select p.partition, p.placed_generation, p.live, p.tenant from partitions p
where p.partition = any(array(
  select least_used.partition
  from (select unnest($1::text[]) as tenant) given
  cross join lateral (
    select partition from partitions where tenant = given.tenant and live > 0 order by live, partition limit $2
  ) least_used
))
order by p.partition for update`;

export const sharedPartitions = (tenants: readonly TenantId[], limit: number): Statement => ({
  name: 'shared-partitions',
  text: shared,
  values: [textArray(tenants), String(limit)],
});

const joined = `
select p.partition, p.placed_generation, p.live, p.tenant, w.workflow
from placements w join partitions p on p.partition = w.partition
where w.workflow = any($1::text[]) and w.live
order by p.partition for update of p`;

/** The partitions of live workflows, locked, and whose they are. Index: primary keys. */
export const joinedPartitions = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'joined-partitions',
  text: joined,
  values: [textArray(workflows)],
});

/** Columns written for a request that gets a partition. */
export type NewPlacement = Placement & Pick<PlacementRequest, 'session'>;

const open = `
select given.tenant,
  (select coalesce(sum(live), 0) from partitions where tenant = given.tenant and live > 0),
  (select coalesce(sum(live), 0) from partitions where live > 0)
from unnest($1::text[]) as given (tenant)`;

/** Counts live workflows of each tenant, and of all. Index: partitions_shared. Cost: 1 ms for 4,096 partitions. */
export const openCounts = (tenants: readonly TenantId[]): Statement => ({
  name: 'open-counts',
  text: open,
  values: [textArray(tenants)],
});

const owned = `
select given.tenant, (select count(*) from partitions where tenant = given.tenant and live > 0)
from unnest($1::text[]) as given (tenant)`;

/** Counts the partitions in which each tenant has a live workflow. Index: partitions_shared. */
export const ownedPartitions = (tenants: readonly TenantId[]): Statement => ({
  name: 'owned-partitions',
  text: owned,
  values: [textArray(tenants)],
});

export const insertPlacements = insertion<NewPlacement>('insert-placements', 'placements', {
  workflow: text((row) => row.workflow),
  tenant: text((row) => row.tenant),
  partition: int4((row) => row.partition),
  generation: int8((row) => row.generation),
  mode: text((row) => row.mode),
  opening: text((row) => row.opening),
  session: text((row) => row.session),
  appended: 'false',
  live: 'true',
});

export interface TakenPartition {
  readonly partition: number;
  readonly placedGeneration: number;
  readonly live: number;
  readonly tenant: TenantId;
}

/** Writes the decision for each locked partition; all of them exist. */
export const takePartitions = insertion<TakenPartition>(
  'take-partitions',
  'partitions',
  {
    partition: int4((row) => row.partition),
    next: '0',
    rebuild_to: '0',
    placed_generation: int8((row) => row.placedGeneration),
    live: int4((row) => row.live),
    tenant: text((row) => row.tenant),
  },
  `on conflict (partition) do update set ${excluded('placed_generation', 'live', 'tenant')}`,
);
