/**
 * What model calls spend: one row per call, reserved first and settled over it, and sums of settled ones by the hour, for each tenant and
 * each of its users, one row per writer. Each write adds to the sums what it changes in its rows, so repeating it changes nothing. A sum
 * since some time adds the whole hours after it, and the calls in the hour that it falls into. Inputs: one row each; `shard`: a range that
 * the writer owns, so that two coordinators never write one sum at once. Locks: the rows and sums. Index: spends_key, spends_tenant,
 * spends_open, primary key. Cost: reading follows the hours, not the calls.
 */

import { createHash } from 'node:crypto';
import type { TenantId } from '@tidemark/core';
import type { SpendRow, Spends } from '@tidemark/ports';
import { bools, float8s, storable, texts } from '../binary-array.ts';
import type { Row, Statement } from '../sql-client.ts';
import { SPEND_COLUMNS, spendAt, spendValues } from './spend-columns.ts';

const HOUR_MS = 3_600_000;
/** Rows must take whatever the fold takes. Numbers beyond these are no time and no amount, and would overflow hours and sums. */
const TIME_MAX_MS = 8.64e15;
const AMOUNT_MAX = 1e15;

/** Of any length, but not the empty text, which stands for all users. */
const keyOf = (user: string): string => createHash('sha256').update(storable(user)).digest('hex').slice(0, 32);

const list = (text: (column: string, at: number) => string): string => SPEND_COLUMNS.map(text).join(', ');
const COLUMNS = list((column) => column);
const FIRST = 8;

const put = `
with given as (
  select unnest($1::text[]) as workflow, unnest($2::text[]) as key, unnest($3::text[]) as tenant,
    unnest($4::text[]) as user_id, unnest($5::text[]) as user_key, unnest($6::float8[]) as at_ms,
    unnest($7::bool[]) as is_settled, ${list((column, at) => `unnest($${FIRST + at}::float8[]) as ${column}`)}
), put as (
  insert into spends (workflow, key, tenant, user_id, at_ms, is_settled, ${COLUMNS})
  select workflow, key, tenant, user_id, at_ms, is_settled, ${COLUMNS} from given
  on conflict (workflow, hashtextextended(key, 0), hashtextextended(key, 1)) do update set
    is_settled = excluded.is_settled, ${list((column) => `${column} = excluded.${column}`)}
), changed as (
  select given.tenant, given.user_key, floor(coalesce(before.at_ms, given.at_ms) / ${HOUR_MS})::int8 as hour,
    ${list((column) => `case when given.is_settled then given.${column} else 0 end - case when before.is_settled then before.${column} else 0 end as ${column}`)}
  from given left join lateral (
    select at_ms, is_settled, ${COLUMNS} from spends s
    where s.workflow = given.workflow and s.key = given.key
      and hashtextextended(s.key, 0) = hashtextextended(given.key, 0)
      and hashtextextended(s.key, 1) = hashtextextended(given.key, 1)
    offset 0
  ) before on true
), added as (
  select tenant, '' as user_key, hour, ${COLUMNS} from changed
  union all
  select tenant, user_key, hour, ${COLUMNS} from changed where user_key is not null
)
insert into spend_hours (tenant, user_key, hour, shard, ${COLUMNS})
select tenant, user_key, hour, $${FIRST + SPEND_COLUMNS.length}::int4, ${list((column) => `sum(${column})`)} from added
group by tenant, user_key, hour having ${SPEND_COLUMNS.map((column) => `sum(${column}) <> 0`).join(' or ')}
order by tenant, user_key, hour
on conflict (tenant, user_key, hour, shard) do update set
  ${list((column) => `${column} = spend_hours.${column} + excluded.${column}`)}`;

export const putSpends = (rows: readonly SpendRow[], shard: number): Statement => ({
  name: 'put-spends',
  text: put,
  values: [
    texts(rows, (row) => row.workflow),
    texts(rows, (row) => row.key),
    texts(rows, (row) => row.tenant),
    texts(rows, (row) => row.user),
    texts(rows, (row) => (row.user === null ? null : keyOf(row.user))),
    float8s(rows, (row) => Math.max(-TIME_MAX_MS, Math.min(row.atMs, TIME_MAX_MS))),
    bools(rows, (row) => row.isSettled),
    ...SPEND_COLUMNS.map((_, at) => float8s(rows, (row) => Math.min(spendValues(row)[at]!, AMOUNT_MAX))),
    String(shard),
  ],
});

const sums = list((column) => `coalesce(sum(${column}), 0) as ${column}`);

const read = `
with hours as (
  select ${sums} from spend_hours
  where tenant = $1 and user_key = $3 and hour >= $5::int8
), edge as (
  select ${sums} from spends
  where tenant = $1 and ($2::text is null or user_id = $2) and is_settled
    and at_ms >= $4::float8 and at_ms < $5::int8 * ${HOUR_MS}::float8
), open as (
  select ${sums} from spends
  where tenant = $1 and ($2::text is null or user_id = $2) and not is_settled and at_ms >= $4::float8
)
select ${list((column) => `hours.${column} + edge.${column}`)}, ${list((column) => `open.${column}`)}
from hours, edge, open`;

export const readSpent = (tenant: TenantId, user: string | null, sinceMs: number): Statement => ({
  name: 'read-spent',
  text: read,
  values: [tenant, user, user === null ? '' : keyOf(user), String(sinceMs), String(Math.ceil(sinceMs / HOUR_MS))],
});

export const spendsOf = (row: Row): Spends => ({
  settled: spendAt(row, 0),
  reserved: spendAt(row, SPEND_COLUMNS.length),
});
