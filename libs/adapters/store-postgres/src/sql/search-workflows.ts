/**
 * Workflows among very many, newest first, page by page; their counts by status, by reason of parking, and by queue; those of some
 * partitions that moved; and spending by the hour. Inputs: filters, each set of which makes a statement with a plan of its own; the last of
 * the page before. Locks: none. Index: workflows_newest, workflows_of_…, workflows_tags, workflows_words; workflows_open and
 * workflows_closed; workflows_runnable and workflows_leased; spend_hours' and partitions' keys. Cost: 1 ms for a page of 50 of 100,000; 15
 * ms to count 100,000; for what moved, two index reads for each partition, and at most `limit` rows.
 */

import type { Generation, Partition, StreamStatus, TenantId, WorkflowId } from '@tidemark/core';
import {
  type FailureCount,
  type ParkedCount,
  type QueueCount,
  type SpentHour,
  type StatusCount,
  searchWords,
  type WorkflowSearch,
} from '@tidemark/ports';
import { int4Array, int8s, storable } from '../binary-array.ts';
import { nullableText, numberAt, once, type Row, type Statement, textAt } from '../sql-client.ts';
import { listedColumns } from './read-workflows.ts';
import { SPEND_COLUMNS, spendAt } from './spend-columns.ts';

/** Longest count of parked workflows. The count is reported repeatedly, so one that takes longer is skipped. */
const PARKED_COUNT_MAX_MS = 2_000;

const HOUR_MS = 3_600_000;

/** Each filter by its name, with the SQL that it adds for the place of its value. */
const FILTERS = {
  tenant: (at) => `tenant = ${at}`,
  definition: (at) => `definition = ${at}`,
  status: (at) => `status = ${at}`,
  reason: (at) => `reason = ${at}`,
  failure: (at) => `failure is not null and failure = ${at}`,
  session: (at) => `session = ${at}`,
  user: (at) => `user_id = ${at}`,
  tags: (at) => `tags <> '{}' and tags @> string_to_array(${at}::text, E'\\x1f')`,
  openedFromMs: (at) => `opened_at_ms >= ${at}::float8`,
  openedToMs: (at) => `opened_at_ms < ${at}::float8`,
  text: (at) => `words @@ ${at}::tsquery`,
} satisfies Partial<Record<keyof WorkflowSearch, (at: string) => string>>;

type Filter = keyof typeof FILTERS;
const ALL = Object.keys(FILTERS) as readonly Filter[];

/** Words are letters and digits alone, so that none is an operator of a query. */
const wordsQuery = (text: string): string =>
  searchWords(text)
    .map((word) => `'${word}':*`)
    .join(' & ');

export const TAG_SEPARATOR = '\x1f';

function given(filter: Filter, query: WorkflowSearch): string | undefined {
  if (filter === 'tags')
    return query.tags === undefined || query.tags.length === 0 ? undefined : storable(query.tags.join(TAG_SEPARATOR));
  if (filter === 'text') return query.text === undefined ? undefined : wordsQuery(query.text);
  const value = query[filter];
  return value === undefined ? undefined : storable(String(value));
}

/** Filters whose matches lie anywhere in the order of lists. */
const SCATTERED: readonly Filter[] = ['tags', 'text'];
/** Fewer matches than these are gathered and sorted; with more, the list is read from its head, where a page of them is soon found. */
const FEW_MAX_COUNT = 2_000;

export function searchWorkflows(query: WorkflowSearch): Statement {
  const values: string[] = [];
  const place = (value: string): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  const scattered: string[] = [];
  let owner = 'true';
  // One letter each: Postgres reads the first 63 bytes of a longer name, and would take two statements for one.
  let filters = '';
  for (const [index, filter] of ALL.entries()) {
    const value = given(filter, query);
    if (value === undefined) continue;
    filters += index.toString(36);
    const condition = FILTERS[filter](place(value));
    if (SCATTERED.includes(filter)) scattered.push(condition);
    else conditions.push(condition);
    // The number of other tenants' matches stays hidden from this one.
    if (filter === 'tenant') owner = condition;
  }
  if (query.definition === undefined) conditions.push(`not starts_with(definition, 'tidemark.')`);
  if (query.roots === true) {
    conditions.push('is_root');
    filters += '-roots';
  }
  if (query.after !== undefined) {
    const [at, id] = [place(String(query.after.openedAtMs)), place(storable(query.after.workflow))];
    conditions.push(`opened_at_ms <= ${at}::float8 and (opened_at_ms < ${at}::float8 or workflow > ${id} collate "C")`);
    filters += '-after';
  }
  const where = conditions.length === 0 ? 'true' : conditions.join('\n  and ');
  const order = `order by opened_at_ms desc, workflow limit ${place(String(query.limit))}`;
  return {
    name: `search-${filters}`,
    text:
      scattered.length === 0
        ? `select ${listedColumns} from workflows where ${where} ${order}`
        : fewOrWalk(scattered, owner, where, order),
    values,
  };
}

/**
 * The number of matches is not known beforehand, so the statement counts them up to the limit of few, and then uses one of the two ways.
 * Gathering by the indexes of tags and words needs `byBitmap`; reading the list must not have it, or Postgres would gather and sort all
 * matches.
 */
const fewOrWalk = (scattered: readonly string[], owner: string, where: string, order: string): string => `
with few as materialized (
  select * from workflows where ${scattered.join(' and ')} and ${owner} limit ${FEW_MAX_COUNT + 1}
)
select * from (
  (select ${listedColumns}, opened_at_ms as placed_at, workflow as placed from few
  where (select count(*) from few) <= ${FEW_MAX_COUNT} and ${where} ${order})
  union all
  (select ${listedColumns}, opened_at_ms, workflow from workflows
  where (select count(*) from few) > ${FEW_MAX_COUNT} and ${where} and ${scattered.map((one) => `(${one}) is true`).join(' and ')} ${order})
) found
order by placed_at desc, placed`;

/** For its transaction: GIN indexes are read by bitmaps alone. */
export const byBitmap: Statement = once('set local enable_bitmapscan = on');

/** Whether the statement needs `byBitmap`. */
export const isScattered = ({ tags = [], text }: WorkflowSearch): boolean => tags.length > 0 || text !== undefined;

export const countStatuses = (tenant: TenantId | null): Statement => ({
  name: tenant === null ? 'count-statuses' : 'count-statuses-of',
  text: `
select status, count(*) from workflows
where ${tenant === null ? '' : 'tenant = $1 and '}not starts_with(definition, 'tidemark.')
group by status`,
  values: tenant === null ? [] : [tenant],
});

export const statusCountOf = (row: Row): StatusCount => ({
  status: textAt(row, 0) as StreamStatus,
  count: numberAt(row, 1),
});

/**
 * Inputs: the most reasons. Locks: none. Index: workflows_parked, alone. Cost: 1 ms for 2,000 parked workflows, 30 ms for 80,000; never
 * longer than `boundParked` allows.
 */
export const countParked = (limit: number): Statement => ({
  name: 'count-parked',
  text: `
select reason, count(*) from workflows
where status = 'parked' and not starts_with(definition, 'tidemark.')
group by reason order by 2 desc, 1 limit $1`,
  values: [String(limit)],
});

/**
 * Inputs: a tenant, a definition, the most fingerprints. Locks: none. Index: workflows_of_failure, alone, and the key of one workflow for
 * each fingerprint. Cost: 1 ms for 1,000 workflows with failures.
 */
export const countFailures = (
  { tenant, definition }: Pick<WorkflowSearch, 'tenant' | 'definition'>,
  limit: number,
): Statement => ({
  name: 'count-failures',
  text: `
with counted as (
  select failure, count(*) as total, count(*) filter (where status = 'parked') as parked,
    count(*) filter (where status = 'failed') as failed
  from workflows
  where failure is not null and ($2::text is null or tenant = $2) and ($3::text is null or definition = $3)
    and not starts_with(definition, 'tidemark.')
  group by failure order by 2 desc, 1 limit $1
)
select failure, total, parked, failed, w.workflow, w.updated_at_ms, w.state from counted cross join lateral (
  select workflow, updated_at_ms, state from workflows
  where failure = counted.failure and ($2::text is null or tenant = $2) and ($3::text is null or definition = $3)
  order by opened_at_ms desc, workflow limit 1
) w
order by total desc, failure`,
  values: [String(limit), tenant ?? null, definition === undefined ? null : storable(definition)],
});

export const failureCountOf = (row: Row): FailureCount => ({
  fingerprint: textAt(row, 0),
  count: numberAt(row, 1),
  parkedCount: numberAt(row, 2),
  failedCount: numberAt(row, 3),
  newest: textAt(row, 4) as WorkflowId,
  updatedAtMs: numberAt(row, 5),
  state: textAt(row, 6),
});

/** Bounds the statements of its transaction. */
export const boundParked: Statement = once(`set local statement_timeout = ${PARKED_COUNT_MAX_MS}`);

export const parkedCountOf = (row: Row): ParkedCount => ({ reason: nullableText(row, 0), count: numberAt(row, 1) });

export const readGenerations = (partitions: readonly Partition[] | undefined): Statement => ({
  name: partitions === undefined ? 'read-generations' : 'read-generations-of',
  text: `select partition, generation from partitions ${partitions === undefined ? '' : 'where partition = any($1::int4[])'}`,
  values: partitions === undefined ? [] : [int4Array(partitions)],
});

export const generationOf = (row: Row): readonly [Partition, Generation] => [
  numberAt(row, 0) as Partition,
  numberAt(row, 1) as Generation,
];

/** Reads the end of each partition's index of closed ones, however many closed there before. */
export const readMoving = (since: ReadonlyMap<Partition, Generation>, limit: number): Statement => ({
  name: 'read-moving',
  text: `
select ${listedColumns} from (
  select * from workflows where partition = any($1::int4[]) and closed_in_generation is null
  union all
  select w.* from unnest($1::int4[], $2::int8[]) as given (partition, generation) cross join lateral (
    select * from workflows where partition = given.partition and closed_in_generation >= given.generation offset 0
  ) w
) moving
limit $3`,
  values: [int4Array([...since.keys()]), int8s([...since.values()], (generation) => generation), String(limit)],
});

export const readSpentHours = (tenant: TenantId | null, sinceMs: number): Statement => ({
  name: tenant === null ? 'read-spent-hours' : 'read-spent-hours-of',
  text: `
select hour * ${HOUR_MS}::float8, ${SPEND_COLUMNS.map((column) => `sum(${column})`).join(', ')} from spend_hours
where user_key = '' and hour >= $1::int8 ${tenant === null ? '' : 'and tenant = $2'}
group by hour order by hour`,
  values: [String(Math.floor(sinceMs / HOUR_MS)), ...(tenant === null ? [] : [tenant])],
});

/** Each half uses its own index, since a workflow with something to do has no holder. */
export const countQueues = (tenant: TenantId | null, limit: number): Statement => ({
  name: tenant === null ? 'count-queues' : 'count-queues-of',
  text: `
select definition, tenant, sum(ready), sum(running) from (
  select definition, tenant, 1 as ready, 0 as running from workflows where runnable
  union all
  select definition, tenant, 0, 1 from workflows where holder is not null
) queued
where ${tenant === null ? '' : 'tenant = $2 and '}not starts_with(definition, 'tidemark.')
group by definition, tenant order by definition, tenant limit $1`,
  values: [String(limit), ...(tenant === null ? [] : [tenant])],
});

export const queueCountOf = (row: Row): QueueCount => ({
  definition: textAt(row, 0),
  tenant: textAt(row, 1) as TenantId,
  readyCount: numberAt(row, 2),
  runningCount: numberAt(row, 3),
});

export const spentHourOf = (row: Row): SpentHour => ({
  hourMs: numberAt(row, 0),
  ...spendAt(row, 1),
});
