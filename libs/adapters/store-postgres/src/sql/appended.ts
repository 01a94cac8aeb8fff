/**
 * Placements whose opening is not in the log, as the fold reports it (put-openings.ts). An opening whose generation the fold has passed was
 * rejected, or never sent, and can't be accepted any more: it gets the partition's next generation first, so that it can be appended again.
 * Index: placements_unappended, which holds only pending ones; primary keys. Locks: to renew, that of placing (place.ts), and the
 * partitions' rows. Cost: below 1 ms for 100.
 */

import { booleanAt, type Row, type Statement } from '../sql-client.ts';

/** Includes placements from the future: the clock was set back since. */
const isOld = `(placed_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
  or placed_at > clock_timestamp() + interval '1 minute')`;

const renew = `
with stale as materialized (
  select l.workflow, l.partition,
    p.placed_generation + row_number() over (partition by l.partition order by l.generation) as generation
  from (
    select workflow, partition, generation from placements
    where not appended and ${isOld} offset 0
  ) l
  cross join lateral (
    select generation, placed_generation from partitions where partition = l.partition for update
  ) p
  where l.generation <= p.generation
), raised as (
  insert into partitions (partition, next, rebuild_to, placed_generation)
  select partition, 0, 0, max(generation) from stale group by partition
  on conflict (partition) do update
    set placed_generation = greatest(partitions.placed_generation, excluded.placed_generation)
)
update placements l set generation = (select s.generation from stale s where s.workflow = l.workflow)
where l.workflow = any(array(select workflow from stale)) and not l.appended`;

const missing = `
select workflow, tenant, partition, generation, mode, opening, appended,
  exists (select from partitions p where p.partition = l.partition and p.generation >= l.generation)
from placements l
where not appended and ${isOld}
order by generation, partition limit $2`;

/** Runs only in a transaction that holds the lock of placing: two renewals must not give one generation twice. */
export const renewStale = (ageMs: number): Statement => ({ name: 'renew-stale', text: renew, values: [String(ageMs)] });

/** A placement's columns, and whether it is stale. */
export const findUnappended = (ageMs: number, limit: number): Statement => ({
  name: 'find-unappended',
  text: missing,
  values: [String(ageMs), String(limit)],
});

export const isStale = (row: Row): boolean => booleanAt(row, 7);
