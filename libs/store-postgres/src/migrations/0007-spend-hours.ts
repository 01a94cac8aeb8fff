/**
 * Owns what the seventh version adds: what was spent, summed by the hour, so that a budget of a month is not the sum of a
 * month's calls. See sql/spends.ts.
 */

export const name = '0007-spend-hours';

export const sql = `
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
select tenant, user_key, floor(at_ms / 3600000)::int8, 0, sum(tokens), sum(cost_micros)
from (
  select tenant, '' as user_key, at_ms, tokens, cost_micros from spends where is_settled
  union all
  select tenant, left(encode(sha256(convert_to(user_id, 'UTF8')), 'hex'), 32), at_ms, tokens, cost_micros
  from spends where is_settled and user_id is not null
) settled
group by 1, 2, 3;
`;
