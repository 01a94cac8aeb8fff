/**
 * The index of wrapped data keys: puts and destructions with the offsets of their topic, in one transaction. Inputs: keys, ids, offsets.
 * Locks: the offsets' rows, so that one of two writers that apply the same stretch succeeds. Index: primary key, data_keys_workflow,
 * data_keys_owner. Cost: 12 ms for 1,000 keys.
 */

import type { Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { KeyFilter, KeyOffsets, StoredKey } from '@tidemark/ports';
import { int4s, int8s, textArray } from '../binary-array.ts';
import { excluded, insertion, text } from '../insertion.ts';
import { nullableText, numberAt, type Row, type Statement, textAt } from '../sql-client.ts';

export const readKeyOffsets: Statement = {
  name: 'read-key-offsets',
  text: 'select partition, next from key_offsets order by partition',
  values: [],
};

export const keyOffsetOf = (row: Row): readonly [Partition, Offset] => [
  numberAt(row, 0) as Partition,
  numberAt(row, 1) as Offset,
];

/** Partitions that are not where the batch begins; a partition without a row is at its start. */
const move = `
with given as (
  select unnest($1::int4[]) as partition, unnest($2::int8[]) as expected, unnest($3::int8[]) as next
), moved as (
  insert into key_offsets (partition, next) select partition, next from given
  on conflict (partition) do update set next = excluded.next
  where key_offsets.next = (select expected from given where given.partition = key_offsets.partition)
  returning partition, xmax <> 0 as was_there
)
select given.partition from given left join moved on moved.partition = given.partition
where moved.partition is null or moved.was_there <> (given.expected is not null)`;

export function moveKeyOffsets(from: KeyOffsets, next: KeyOffsets): Statement {
  const rows = [...next].sort(([a], [b]) => a - b);
  return {
    name: 'move-key-offsets',
    text: move,
    values: [
      int4s(rows, ([partition]) => partition),
      int8s(rows, ([partition]) => from.get(partition) ?? null),
      int8s(rows, ([, offset]) => offset),
    ],
  };
}

export const destroyKeys = (ids: readonly string[]): Statement => ({
  name: 'destroy-data-keys',
  text: `
insert into data_keys (id) select distinct unnest($1::text[])
on conflict (id) do update set tenant = null, workflow = null, user_id = null, provider = null, wrapped_by = null, wrapped = null`,
  values: [textArray(ids)],
});

/** Returns the ids that were stored; the others were destroyed before. */
export const putKeys = insertion<StoredKey>(
  'put-data-keys',
  'data_keys',
  {
    id: text((key) => key.id),
    tenant: text((key) => key.tenant),
    workflow: text((key) => key.workflow),
    user_id: text((key) => key.user),
    provider: text((key) => key.provider),
    wrapped_by: text((key) => key.wrappedBy),
    wrapped: text((key) => key.wrapped),
  },
  `on conflict (id) do update set ${excluded('provider', 'wrapped_by', 'wrapped')} where data_keys.wrapped is not null returning id`,
);

const COLUMNS = 'id, tenant, workflow, user_id, provider, wrapped_by, wrapped';

/** Includes destroyed ones. */
export const findKeys = (ids: readonly string[]): Statement => ({
  name: 'find-data-keys',
  text: `select ${COLUMNS} from data_keys where id = any($1::text[])`,
  values: [textArray(ids)],
});

const page = (where: string): string => `
select ${COLUMNS} from data_keys
where wrapped is not null and id > $4 collate "C" and ${where}
order by id limit $5`;

/** One statement for each index: Postgres would keep a plan without any for a combined one. */
const PAGES = {
  workflow: page(
    'workflow = any($2::text[]) and ($1::text is null or tenant = $1) and ($3::text is null or user_id = $3)',
  ),
  user: page('tenant = $1 and user_id = $3 and $2::text[] is null'),
  any: page(
    '($1::text is null or tenant = $1) and ($2::text[] is null or workflow = any($2)) and ($3::text is null or user_id = $3)',
  ),
} as const;

/** A page of keys by id. */
export function listKeys({ tenant, workflow, user }: KeyFilter, after: string, limit: number): Statement {
  const isOfUser = tenant !== undefined && user !== undefined;
  const by = workflow !== undefined ? 'workflow' : isOfUser ? 'user' : 'any';
  return {
    name: `list-data-keys-by-${by}`,
    text: PAGES[by],
    values: [
      tenant ?? null,
      workflow === undefined ? null : textArray([workflow].flat()),
      user ?? null,
      after,
      String(limit),
    ],
  };
}

/** Null: the key was destroyed. */
export const foundOf = (row: Row): readonly [id: string, key: StoredKey | null] => [
  textAt(row, 0),
  nullableText(row, 6) === null ? null : keyOf(row),
];

export const keyOf = (row: Row): StoredKey => ({
  id: textAt(row, 0),
  tenant: textAt(row, 1) as TenantId,
  workflow: textAt(row, 2) as WorkflowId,
  user: nullableText(row, 3),
  provider: textAt(row, 4),
  wrappedBy: textAt(row, 5),
  wrapped: textAt(row, 6),
});
