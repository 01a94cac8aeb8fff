/**
 * Segments, how far partitions may be archived, and the store's clock. Inputs: a segment with its workflows; filters. Locks: none to speak
 * of. Index: workflows_held and the checkpoints' primary key for floors; primary keys, segments_kept, segment_workflows_place,
 * workflows_forks. Cost: floors of 4,096 partitions with one workflow each 25 ms.
 */

import type { Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type {
  PartitionFloor,
  SegmentQuery,
  SegmentRow,
  SegmentTier,
  SegmentWorkflow,
  StorageUse,
  StreamPlace,
} from '@tidemark/ports';
import { int4s, textArray, texts } from '../binary-array.ts';
import { bool, float8, insertion, int4, int8, text } from '../insertion.ts';
import { booleanAt, nullableText, numberAt, type Row, type Statement, textAt } from '../sql-client.ts';

export const readNow: Statement = {
  name: 'read-now',
  text: 'select floor(extract(epoch from clock_timestamp()) * 1000)',
  values: [],
};

/** Workflows that were restored from segments hold nothing back: what lies before them is archived. */
const floors = `
select p.partition, p.next, least(p.next, (
  select min(c."offset") from workflows w
  join checkpoints c on c.workflow = w.workflow
    and c.sequence = case when w.closed_in_generation is null then w.belief_sequence else 0 end
  where w.partition = p.partition and w.has_rows and w.restored_at_ms is null and w.definition <> all($2::text[])
    and (w.closed_in_generation is null or w.updated_at_ms > $1)
)) from partitions p order by p.partition`;

export const readFloors = (hotBeforeMs: number, stateless: readonly string[]): Statement => ({
  name: 'read-floors',
  text: floors,
  values: [String(hotBeforeMs), textArray(stateless)],
});

export const floorOf = (row: Row): PartitionFloor => ({
  partition: numberAt(row, 0) as Partition,
  next: numberAt(row, 1) as Offset,
  floor: numberAt(row, 2) as Offset,
});

export const setTier = ({ partition, from }: Pick<SegmentRow, 'partition' | 'from'>, tier: SegmentTier): Statement => ({
  name: 'set-segment-tier',
  text: 'update segments set tier = $3 where partition = $1 and starts = $2',
  values: [String(partition), String(from), tier],
});

export const putSegments = insertion<SegmentRow>(
  'put-segments',
  'segments',
  {
    partition: int4((row) => row.partition),
    starts: int8((row) => row.from),
    ends: int8((row) => row.to),
    object: text((row) => row.object),
    digest: text((row) => row.digest),
    bytes: int8((row) => row.bytes),
    raw_bytes: int8((row) => row.rawBytes),
    event_count: int8((row) => row.eventCount),
    first_at_ms: float8((row) => row.firstAtMs),
    last_at_ms: float8((row) => row.lastAtMs),
    written_at_ms: float8((row) => row.writtenAtMs),
    tier: text((row) => row.tier),
    rows_dropped: bool((row) => row.rowsDropped),
  },
  'on conflict (partition, starts) do nothing',
);

interface Part extends SegmentWorkflow, Pick<SegmentRow, 'partition' | 'from'> {}

export const partsOf = (rows: readonly SegmentRow[]): readonly Part[] =>
  rows.flatMap(({ workflows, partition, from }) => workflows.map((part) => ({ ...part, partition, from })));

export const putParts = insertion<Part>(
  'put-segment-workflows',
  'segment_workflows',
  {
    workflow: text((row) => row.workflow),
    partition: int4((row) => row.partition),
    starts: int8((row) => row.from),
    tenant: text((row) => row.tenant),
    event_count: int8((row) => row.eventCount),
    raw_bytes: int8((row) => row.rawBytes),
    opens: bool((row) => row.opens),
    closes: bool((row) => row.closes),
  },
  'on conflict (workflow, partition, starts) do nothing',
);

const find = `
select s.partition, s.starts, s.ends, s.object, s.digest, s.bytes, s.raw_bytes, s.event_count, s.first_at_ms, s.last_at_ms,
  s.written_at_ms, s.tier, s.rows_dropped,
  (select coalesce(json_agg(json_build_object('workflow', w.workflow, 'tenant', w.tenant, 'eventCount', w.event_count,
    'rawBytes', w.raw_bytes, 'opens', w.opens, 'closes', w.closes) order by w.workflow), '[]')
   from segment_workflows w where w.partition = s.partition and w.starts = s.starts)
from segments s
where ($1::int4 is null or s.partition = $1) and ($4::bool is null or s.rows_dropped = $4)
  and ($2::text is null or exists (
    select from segment_workflows w where w.workflow = $2 and w.partition = s.partition and w.starts = s.starts))
  and ($3::text is null or exists (
    select from segment_workflows w where w.tenant = $3 and w.partition = s.partition and w.starts = s.starts))
  and ($6::text is null or s.tier = $6) and ($7::float8 is null or (s.written_at_ms < $7 and s.last_at_ms < $7))
  and ($8::int4 is null or (s.partition, s.starts) > ($8, $9::int8))
order by s.partition, s.starts limit $5`;

export const findSegments = ({
  partition,
  workflow,
  tenant,
  rowsDropped,
  limit,
  ...more
}: SegmentQuery): Statement => ({
  name: '',
  text: find,
  values: [
    partition === undefined ? null : String(partition),
    workflow ?? null,
    tenant ?? null,
    rowsDropped === undefined ? null : String(rowsDropped),
    String(limit),
    more.tier ?? null,
    more.beforeMs === undefined ? null : String(more.beforeMs),
    more.after === undefined ? null : String(more.after.partition),
    more.after === undefined ? null : String(more.after.from),
  ],
});

export const readTenants: Statement = {
  name: 'read-segment-tenants',
  text: `
select distinct p.tenant from segment_workflows p join segments s on s.partition = p.partition and s.starts = p.starts
where s.tier <> 'deleted' order by p.tenant`,
  values: [],
};

/** Forks `f` of `${base}` that still exist: no deleted segment holds their openings. */
const forks = (base: string): string => `
select f.workflow from workflows f
where f.fork_of = ${base} and not exists (
  select from segment_workflows o join segments s on s.partition = o.partition and s.starts = o.starts
  where o.workflow = f.workflow and o.opens and s.tier = 'deleted'
)`;

const unfinished = `
select exists (
  select from segment_workflows p join workflows w on w.workflow = p.workflow
  where p.partition = $1 and p.starts = $2
    and (w.closed_in_generation is null or w.updated_at_ms >= $3 or exists (${forks('w.workflow')}))
)`;

export const findForks = (workflow: WorkflowId, limit: number): Statement => ({
  name: 'find-forks',
  text: `${forks('$1')} order by f.workflow limit $2`,
  values: [workflow, String(limit)],
});

export const findUnfinished = (
  { partition, from }: Pick<SegmentRow, 'partition' | 'from'>,
  beforeMs: number,
): Statement => ({
  name: 'find-unfinished',
  text: unfinished,
  values: [String(partition), String(from), String(beforeMs)],
});

export const countRecorded = (partition: Partition, to: Offset): Statement => ({
  name: 'count-recorded-events',
  text: 'select coalesce(sum(ends - starts), 0) from segments where partition = $1 and ends <= $2',
  values: [String(partition), String(to)],
});

const ended = `
select given.workflow, given.partition
from (select unnest($1::text[]) collate "C" as workflow, unnest($2::int4[]) as partition) given
where exists (
  select from segment_workflows p where p.workflow = given.workflow and p.partition = given.partition and p.closes)`;

export const findEnded = (streams: readonly StreamPlace[]): Statement => ({
  name: 'find-ended-in-segments',
  text: ended,
  values: [texts(streams, ({ workflow }) => workflow), int4s(streams, ({ partition }) => partition)],
});

export const placeOf = (row: Row): StreamPlace => ({
  workflow: textAt(row, 0) as WorkflowId,
  partition: numberAt(row, 1) as Partition,
});

export const segmentOf = (row: Row): SegmentRow => ({
  partition: numberAt(row, 0) as Partition,
  from: numberAt(row, 1) as Offset,
  to: numberAt(row, 2) as Offset,
  object: textAt(row, 3),
  digest: textAt(row, 4),
  bytes: numberAt(row, 5),
  rawBytes: numberAt(row, 6),
  eventCount: numberAt(row, 7),
  firstAtMs: numberAt(row, 8),
  lastAtMs: numberAt(row, 9),
  writtenAtMs: numberAt(row, 10),
  tier: textAt(row, 11) as SegmentTier,
  rowsDropped: booleanAt(row, 12),
  workflows: (JSON.parse(textAt(row, 13)) as (SegmentWorkflow & { workflow: WorkflowId; tenant: TenantId })[]).map(
    (part) => ({ ...part }),
  ),
});

/** A text that names a record of the log carries its size (see record-place.ts of the ports). */
const bytesOf = (table: string, column: string): string => `
select workflow, sum(case
    when octet_length(${column}) < 80 and ${column} ~ '^@[0-9]+:[0-9]+:[0-9]{1,9}$' then split_part(${column}, ':', 3)::int8
    else octet_length(${column}) end) as bytes
from ${table} group by workflow`;

/** Shares a segment's bytes out by the bytes of its workflows' records in the log. */
const storage = (name: 'tenant' | 'workflow'): string => `
with hot as (
  select workflow, sum(bytes) as bytes from (
    ${bytesOf('checkpoints', 'payload')} union all ${bytesOf('effects', 'payload')} union all
    ${bytesOf('events', 'payload')} union all ${bytesOf('texts', 'text')}
  ) parts group by workflow
), archived as (
  select p.workflow, sum(p.event_count) as events, sum(p.raw_bytes) as raw,
    sum(s.bytes::float8 * p.raw_bytes / greatest(s.raw_bytes, 1)) as bytes
  from segment_workflows p join segments s on s.partition = p.partition and s.starts = p.starts
  where s.tier <> 'deleted' group by p.workflow
)
select w.${name}, count(*), coalesce(sum(hot.bytes), 0), coalesce(sum(archived.events), 0), coalesce(sum(archived.raw), 0),
  round(coalesce(sum(archived.bytes), 0)), ${name === 'workflow' ? 'max(w.fork_of)' : 'null'}
from workflows w left join hot on hot.workflow = w.workflow left join archived on archived.workflow = w.workflow
where $2::text is null or w.tenant = $2
group by w.${name} order by coalesce(sum(hot.bytes), 0) + coalesce(sum(archived.bytes), 0) desc, w.${name} limit $1`;

export const readStorage = (by: 'tenant' | 'workflow', limit: number, tenant: TenantId | null): Statement => ({
  name: '',
  text: storage(by),
  values: [String(limit), tenant],
});

export function storageOf(row: Row): StorageUse {
  const forkOf = nullableText(row, 6) as WorkflowId | null;
  return {
    name: textAt(row, 0),
    workflowCount: numberAt(row, 1),
    hotBytes: numberAt(row, 2),
    archivedEventCount: numberAt(row, 3),
    archivedRawBytes: numberAt(row, 4),
    archivedBytes: numberAt(row, 5),
    ...(forkOf !== null && { forkOf }),
  };
}
