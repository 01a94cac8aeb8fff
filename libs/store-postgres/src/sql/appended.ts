/**
 * Placements whose opening is not in the log, by the fold's own word (put-openings.ts). An opening whose generation the fold has
 * passed was rejected, or never sent, and can't be accepted any more: it gets the partition's next generation first, so
 * that it can be appended again. Index: placements_unappended, which holds the few that are under way.
 * Locks: the rows that are placed anew, and their partitions. Cost: below 1 ms for 100.
 */

import type { Statement } from '../sql-client.ts';

const renew = `
with stale as (
  select l.workflow, l.partition, p.placed_generation + row_number() over (partition by l.partition order by l.generation)
    as generation
  from placements l join partitions p on p.partition = l.partition
  where not l.appended and l.generation <= p.generation
    and l.placed_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
), moved as (
  update partitions p set placed_generation = newest.generation
  from (select partition, max(generation) as generation from stale group by partition) newest
  where p.partition = newest.partition
  returning p.partition
)
update placements l set generation = stale.generation
from stale join moved on moved.partition = stale.partition
where l.workflow = stale.workflow and not l.appended`;

const missing = `
select workflow, tenant, partition, generation, mode, opening, appended from placements
where not appended and placed_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
order by generation, partition limit $2`;

export const renewStale = (ageMs: number): Statement => ({ name: 'renew-stale', text: renew, values: [String(ageMs)] });

export const findUnappended = (ageMs: number, limit: number): Statement => ({
  name: 'find-unappended',
  text: missing,
  values: [String(ageMs), String(limit)],
});
