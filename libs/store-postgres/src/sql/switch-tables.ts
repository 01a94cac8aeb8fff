/**
 * Tables made anew in a schema of their own, and how they take the place of those in use. `LIVE` and `FRESH` stand for the two schemas, quoted.
 * Locks: carrying over holds the partitions and placements in use against writers; switching takes every table alone, for as long as renaming
 * takes. Cost: switching 40 ms; carrying over 1 s for 100,000 workflows.
 */

/** Not made anew: who owns which range, and the index of data keys, which follows from another topic. */
export const KEPT_TABLES: readonly string[] = ['tidemark_migrations', 'owners', 'ranges', 'data_keys', 'key_offsets'];

/** The plans that suit single rows don't suit whole tables. */
export const WHOLE_TABLES = `
set local enable_seqscan = on; set local enable_bitmapscan = on; set local enable_hashjoin = on; set local enable_mergejoin = on;
set local plan_cache_mode = auto`;

/** Where each workflow was placed: of openings in several partitions, one was refused, and folding alone can't tell which. */
export const SEED_PLACEMENTS = `
insert into FRESH.placements (workflow, tenant, partition, generation, mode, opening, appended, live, placed_at, session)
select workflow, tenant, partition, generation, mode, '', true, true, placed_at, session from LIVE.placements
where appended on conflict (workflow) do nothing`;

/** How vectors are stored in use (see vector-form.ts), by its full name. */
export const VECTOR_TYPE = `
select format_type(atttypid, null) from pg_attribute
where attrelid = 'LIVE.memory_embeddings'::regclass and attname = 'embedding' and not attisdropped`;

export const TAKE_VECTOR_TYPE = (type: string): string => `
alter table FRESH.memory_embeddings alter column embedding type ${type} using null;
alter table FRESH.memory_embeddings alter column embedding set storage external`;

/** Nobody places, projects or claims partitions until the transaction ends. */
export const LOCK_WRITERS = 'lock table LIVE.partitions, LIVE.placements in exclusive mode';

/** Whose opening is neither in the log nor in the archive. */
export const DROP_UNFOUND = `
delete from FRESH.placements p where not exists (select from FRESH.workflows w where w.workflow = p.workflow)`;

export const CARRY_OVER = `
insert into FRESH.placements (workflow, tenant, partition, generation, mode, opening, appended, live, placed_at, session)
select workflow, tenant, partition, generation, mode, opening, appended, live, placed_at, session from LIVE.placements
where not appended on conflict (workflow) do nothing;
update FRESH.partitions n set placed_generation = greatest(n.placed_generation, o.placed_generation)
from LIVE.partitions o where o.partition = n.partition;
update FRESH.partitions n set live = l.live, tenant = l.tenant
from (
  select p.partition, count(a.workflow) as live, min(a.tenant) as tenant
  from FRESH.partitions p left join FRESH.placements a on a.partition = p.partition and a.live group by p.partition
) l where l.partition = n.partition and (n.live, n.tenant) is distinct from (l.live, l.tenant);
update FRESH.segments n set tier = o.tier
from LIVE.segments o where o.partition = n.partition and o.starts = n.starts and o.tier <> n.tier;
insert into FRESH.memory_embeddings (id, model, mark, tenant, subject, kind, dimension, embedding)
select n.id, e.model, n.mark, e.tenant, e.subject, e.kind, e.dimension, e.embedding
from LIVE.memory_embeddings e
join LIVE.memories o on o.id = e.id and o.mark = e.mark
join FRESH.memories n on n.tenant = o.tenant and n.subject = o.subject and n.kind = o.kind and n.key = o.key and n.words = o.words
on conflict (id, model) do nothing`;

/** Sequences of columns follow their tables. */
export const SWITCH_TABLES = `
do $$
declare it record;
begin
  create schema LEAVING;
  for it in
    select c.relname, c.relkind from pg_class c
    where c.relnamespace = 'FRESH'::regnamespace and c.relname <> all(array[${KEPT_TABLES.map((name) => `'${name}'`).join(', ')}])
      and (c.relkind = 'r' or (c.relkind = 'S' and not exists (
        select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i'))))
    order by c.relkind, c.relname
  loop
    execute format('alter %s if exists LIVE.%I set schema LEAVING', case it.relkind when 'r' then 'table' else 'sequence' end, it.relname);
    execute format('alter %s FRESH.%I set schema LIVE', case it.relkind when 'r' then 'table' else 'sequence' end, it.relname);
  end loop;
  drop schema LEAVING cascade;
  drop schema FRESH cascade;
end $$`;

export interface Schemas {
  readonly live: string;
  readonly fresh: string;
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const leavingOf = ({ live }: Schemas): string => `${live}_leaving`;

export function inSchemas(text: string, schemas: Schemas): string {
  return text
    .replaceAll('LIVE', quoted(schemas.live))
    .replaceAll('FRESH', quoted(schemas.fresh))
    .replaceAll('LEAVING', quoted(leavingOf(schemas)));
}
