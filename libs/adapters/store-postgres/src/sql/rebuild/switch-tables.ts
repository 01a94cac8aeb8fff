/**
 * How tables that were rebuilt in a schema of their own replace those in use. `LIVE` and `FRESH` stand for the two schemas, quoted. Locks:
 * carrying over blocks writers of the partitions and placements in use; then one statement locks every table exclusively, for as long as
 * switching takes. Cost: switching 40 ms; carrying over 1 s for 100,000 workflows, plus the embeddings that were not carried over before.
 */

import { SWITCHED } from './rebuild-schema.ts';

/** Undoes the settings of the connections: the plans that suit single rows don't suit whole tables. */
export const WHOLE_TABLES = `
set local enable_seqscan = on; set local enable_bitmapscan = on; set local enable_hashjoin = on; set local enable_mergejoin = on;
set local plan_cache_mode = auto`;

/** Nobody places, projects or claims partitions until the transaction ends. */
export const LOCK_WRITERS = 'lock table LIVE.partitions, LIVE.placements in exclusive mode';

/** Copies embeddings of the same words. It may run before, while others write; a later run skips what it has put. */
export const CARRY_EMBEDDINGS = `
insert into FRESH.memory_embeddings (id, model, mark, tenant, subject, kind, dimension, embedding)
select n.id, e.model, n.mark, e.tenant, e.subject, e.kind, e.dimension, e.embedding
from LIVE.memory_embeddings e
join LIVE.memories o on o.id = e.id and o.mark = e.mark
join FRESH.memories n on n.tenant = o.tenant and n.subject = o.subject and n.kind = o.kind and n.key = o.key and n.words = o.words
where not exists (select from FRESH.memory_embeddings f where f.id = n.id and f.model = e.model)
on conflict (id, model) do nothing`;

/** Copies seeded placements whose opening is neither in the log nor in the archive, and those whose opening is on its way. */
const CARRY_PLACEMENTS = [
  'delete from FRESH.placements p where not exists (select from FRESH.workflows w where w.workflow = p.workflow)',
  `insert into FRESH.placements (workflow, tenant, partition, generation, mode, opening, appended, live, placed_at, session)
select workflow, tenant, partition, generation, mode, opening, appended, live, placed_at, session from LIVE.placements
where not appended on conflict (workflow) do nothing`,
];

/** Copies what follows from neither log nor archive, one statement after the other. */
export const CARRY_OVER: readonly string[] = [
  ...CARRY_PLACEMENTS,
  `update FRESH.partitions n set placed_generation = greatest(n.placed_generation, o.placed_generation)
from LIVE.partitions o where o.partition = n.partition`,
  `update FRESH.partitions n set live = l.live, tenant = l.tenant
from (
  select p.partition, count(a.workflow) as live, min(a.tenant) as tenant
  from FRESH.partitions p left join FRESH.placements a on a.partition = p.partition and a.live group by p.partition
) l where l.partition = n.partition and (n.live, n.tenant) is distinct from (l.live, l.tenant)`,
  `update FRESH.segments n set tier = o.tier
from LIVE.segments o where o.partition = n.partition and o.starts = n.starts and o.tier <> n.tier`,
  CARRY_EMBEDDINGS,
];

/** Locks every table that is switched, on both sides, so that nothing waits afterwards. */
export const LOCK_ALL = `
do $$ begin
  execute (select 'lock table ' || string_agg(place::regclass::text, ', ' order by place::regclass::text) || ' in access exclusive mode'
    from ${SWITCHED} s cross join lateral unnest(array[s.live, s.fresh]) place where s.relkind = 'r' and place is not null);
end $$`;

/** Sequences of columns follow their tables. An object of others that depends on an old table makes the drop fail, so none is lost. */
export const SWITCH_TABLES = `
do $$
declare
  it record; tables text; sequences text;
begin
  select string_agg(format('LIVE.%I', relname), ', ') filter (where relkind = 'r'),
    string_agg(format('LIVE.%I', relname), ', ') filter (where relkind = 'S')
  into tables, sequences from ${SWITCHED} s where live is not null;
  if tables is not null then execute 'drop table ' || tables || ' restrict'; end if;
  if sequences is not null then execute 'drop sequence ' || sequences || ' restrict'; end if;
  for it in select relname, case relkind when 'r' then 'table' else 'sequence' end as what from ${SWITCHED} s loop
    execute format('alter %s FRESH.%I set schema LIVE', it.what, it.relname);
  end loop;
  drop schema FRESH cascade;
end $$`;

export interface Schemas {
  readonly live: string;
  readonly fresh: string;
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const inSchemas = (text: string, { live, fresh }: Schemas): string =>
  text.replaceAll(/LIVE|FRESH/g, (side) => quoted(side === 'LIVE' ? live : fresh));
