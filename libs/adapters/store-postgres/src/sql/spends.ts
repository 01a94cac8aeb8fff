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
import { numberAt, type Row, type Statement } from '../sql-client.ts';

const HOUR_MS = 3_600_000;
/** Rows must take whatever the fold takes. Numbers beyond these are no time and no amount, and would overflow hours and sums. */
const TIME_MAX_MS = 8.64e15;
const AMOUNT_MAX = 1e15;

/** Of any length, but not the empty text, which stands for all users. */
const keyOf = (user: string): string => createHash('sha256').update(storable(user)).digest('hex').slice(0, 32);

const put = `
with given as (
  select unnest($1::text[]) as workflow, unnest($2::text[]) as key, unnest($3::text[]) as tenant,
    unnest($4::text[]) as user_id, unnest($5::text[]) as user_key, unnest($6::float8[]) as at_ms,
    unnest($7::float8[]) as tokens, unnest($8::float8[]) as cost_micros, unnest($9::bool[]) as is_settled
), put as (
  insert into spends (workflow, key, tenant, user_id, at_ms, tokens, cost_micros, is_settled)
  select workflow, key, tenant, user_id, at_ms, tokens, cost_micros, is_settled from given
  on conflict (workflow, hashtextextended(key, 0), hashtextextended(key, 1)) do update set
    tokens = excluded.tokens, cost_micros = excluded.cost_micros, is_settled = excluded.is_settled
), changed as (
  select given.tenant, given.user_key, floor(coalesce(before.at_ms, given.at_ms) / ${HOUR_MS})::int8 as hour,
    case when given.is_settled then given.tokens else 0 end
      - case when before.is_settled then before.tokens else 0 end as tokens,
    case when given.is_settled then given.cost_micros else 0 end
      - case when before.is_settled then before.cost_micros else 0 end as cost_micros
  from given left join lateral (
    select at_ms, tokens, cost_micros, is_settled from spends s
    where s.workflow = given.workflow and s.key = given.key
      and hashtextextended(s.key, 0) = hashtextextended(given.key, 0)
      and hashtextextended(s.key, 1) = hashtextextended(given.key, 1)
    offset 0
  ) before on true
), added as (
  select tenant, '' as user_key, hour, tokens, cost_micros from changed
  union all
  select tenant, user_key, hour, tokens, cost_micros from changed where user_key is not null
)
insert into spend_hours (tenant, user_key, hour, shard, tokens, cost_micros)
select tenant, user_key, hour, $10::int4, sum(tokens), sum(cost_micros) from added
group by tenant, user_key, hour having sum(tokens) <> 0 or sum(cost_micros) <> 0
order by tenant, user_key, hour
on conflict (tenant, user_key, hour, shard) do update set
  tokens = spend_hours.tokens + excluded.tokens, cost_micros = spend_hours.cost_micros + excluded.cost_micros`;

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
    float8s(rows, (row) => Math.min(row.tokens, AMOUNT_MAX)),
    float8s(rows, (row) => Math.min(row.costMicros, AMOUNT_MAX)),
    bools(rows, (row) => row.isSettled),
    String(shard),
  ],
});

const read = `
with hours as (
  select coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost_micros), 0) as cost_micros from spend_hours
  where tenant = $1 and user_key = $3 and hour >= $5::int8
), edge as (
  select coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost_micros), 0) as cost_micros from spends
  where tenant = $1 and ($2::text is null or user_id = $2) and is_settled
    and at_ms >= $4::float8 and at_ms < $5::int8 * ${HOUR_MS}::float8
), open as (
  select coalesce(sum(tokens), 0) as tokens, coalesce(sum(cost_micros), 0) as cost_micros from spends
  where tenant = $1 and ($2::text is null or user_id = $2) and not is_settled and at_ms >= $4::float8
)
select hours.tokens + edge.tokens, hours.cost_micros + edge.cost_micros, open.tokens, open.cost_micros
from hours, edge, open`;

export const readSpent = (tenant: TenantId, user: string | null, sinceMs: number): Statement => ({
  name: 'read-spent',
  text: read,
  values: [tenant, user, user === null ? '' : keyOf(user), String(sinceMs), String(Math.ceil(sinceMs / HOUR_MS))],
});

export const spendsOf = (row: Row): Spends => ({
  settled: { tokens: numberAt(row, 0), costMicros: numberAt(row, 1) },
  reserved: { tokens: numberAt(row, 2), costMicros: numberAt(row, 3) },
});
