/**
 * Owns what the seventh version adds: what was spent, summed by the hour, so that a budget of a month is not the sum of a
 * month's calls. See sql/spends.ts.
 */

export const name = '0007-spend-hours';

export const sql = `
-- A coordinator of an earlier version that still runs fails from now on: it would settle calls without their sums.
alter function tidemark_expect_5(bigint, bigint) rename to tidemark_expect_7;

create table spend_hours (
  tenant text collate "C" not null,
  -- Empty: of all of the tenant's users, and of nobody.
  user_key text collate "C" not null,
  hour bigint not null,
  -- Written by one coordinator at a time.
  shard integer not null,
  tokens double precision not null,
  cost_micros double precision not null,
  primary key (tenant, user_key, hour, shard)
) with (fillfactor = 80);
create index spends_open on spends (tenant, at_ms) where not is_settled;

insert into spend_hours (tenant, user_key, hour, shard, tokens, cost_micros)
with settled as (
  select tenant, user_id, floor(greatest(least(at_ms, 8.64e15), -8.64e15) / 3600000)::int8 as hour,
    sum(least(tokens, 1e15)) as tokens, sum(least(cost_micros, 1e15)) as cost_micros
  from spends where is_settled group by 1, 2, 3
)
select tenant, '', hour, 0, sum(tokens), sum(cost_micros) from settled group by tenant, hour
union all
select tenant, left(encode(sha256(convert_to(user_id, 'UTF8')), 'hex'), 32), hour, 0, tokens, cost_micros
from settled where user_id is not null;
`;
