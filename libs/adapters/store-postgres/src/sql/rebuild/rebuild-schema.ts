/**
 * The schema beside the one in use: which rebuild created it, what others own of the rows in use, and where openings were found. `LIVE` and
 * `FRESH` stand for the two schemas, quoted. Two tables belong to the rebuild and are never switched: `tidemark_rebuild` (which marks a
 * schema as a rebuild's, and says which version folds into it) and `rebuild_strays`; a third, `rebuild_homes`, holds what follows from
 * those.
 */

/** Not rebuilt: the owners of ranges, and the index of data keys, which follows from another topic. */
const KEPT_TABLES: readonly string[] = [
  'tidemark_migrations',
  'tidemark_expansions',
  'owners',
  'ranges',
  'data_keys',
  'key_offsets',
  'trace_cursors',
];

const REBUILD_TABLES: readonly string[] = ['tidemark_rebuild', 'rebuild_strays', 'rebuild_homes'];

const listed = (names: readonly string[]): string => `array[${names.map((name) => `'${name}'`).join(', ')}]`;

/** Relations that are switched: `relname`, `relkind` (tables, and sequences that belong to no column), `fresh`; `live` null: not in use. */
export const SWITCHED = `(
  select n.relname, n.relkind, n.oid as fresh, o.oid as live, n.relowner as fresh_owner, o.relowner as live_owner, o.relacl
  from pg_class n
  left join pg_class o on o.relname = n.relname and o.relkind = n.relkind and o.relnamespace = 'LIVE'::regnamespace
  where n.relnamespace = 'FRESH'::regnamespace and n.relname <> all(${listed([...KEPT_TABLES, ...REBUILD_TABLES])})
    and (n.relkind = 'r' or (n.relkind = 'S' and not exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = n.oid and d.deptype in ('a', 'i')))))`;

/** Whether the schema exists, is empty, and is a rebuild's; another statement reads which version fills it. */
export const READ_SCHEMA = `
select to_regnamespace('FRESH') is not null,
  not exists (select from pg_class where relnamespace = to_regnamespace('FRESH')::oid),
  to_regclass('FRESH.tidemark_rebuild') is not null`;

export const READ_MAKER =
  'select made_by, (extract(epoch from begun_at) * 1000)::float8::text from FRESH.tidemark_rebuild';

/** One transaction, so that a rebuild's schema always has its mark. */
export const MAKE_SCHEMA = `
create schema if not exists FRESH;
create table FRESH.tidemark_rebuild (
  only_row boolean primary key default true check (only_row),
  made_by text not null,
  begun_at timestamptz not null default clock_timestamp()
);
create table FRESH.rebuild_strays (workflow text collate "C", partition integer, primary key (workflow, partition));
create table FRESH.rebuild_homes (
  workflow text collate "C" primary key, tenant text collate "C" not null, partition integer not null,
  generation bigint not null, mode text not null, placed_at timestamptz not null, session text collate "C"
)`;

export const MARK_SCHEMA = 'insert into FRESH.tidemark_rebuild (made_by) values ($1)';

export const DROP_SCHEMA = 'drop schema if exists FRESH cascade';

/**
 * What stands on the tables in use and would be lost with them: views, foreign keys, triggers, rules, policies, publications, child tables,
 * indexes and columns that this version does not create. Cost: 30 ms.
 */
export const FIND_DEPENDENTS = `
with switched as (select relname, live, fresh from ${SWITCHED} s where live is not null)
select format('view %s (of %s)', w.ev_class::regclass, s.relname) as name from switched s
join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = s.live and d.classid = 'pg_rewrite'::regclass
join pg_rewrite w on w.oid = d.objid where w.ev_class <> s.live
union select format('foreign key %I of %s (to %s)', c.conname, c.conrelid::regclass, s.relname)
from switched s join pg_constraint c on c.confrelid = s.live and c.contype = 'f'
union select format('trigger %I (on %s)', t.tgname, s.relname)
from switched s join pg_trigger t on t.tgrelid = s.live and not t.tgisinternal
union select format('rule %I (on %s)', w.rulename, s.relname) from switched s join pg_rewrite w on w.ev_class = s.live
union select format('policy %I (on %s)', p.polname, s.relname) from switched s join pg_policy p on p.polrelid = s.live
union select format('publication %I (of %s)', p.pubname, s.relname)
from switched s join pg_publication_rel r on r.prrelid = s.live join pg_publication p on p.oid = r.prpubid
union select format('table %s (heir of %s)', i.inhrelid::regclass, s.relname)
from switched s join pg_inherits i on i.inhparent = s.live
union select format('index %I (on %s)', i.relname, s.relname)
from switched s join pg_index x on x.indrelid = s.live join pg_class i on i.oid = x.indexrelid
where not exists (
  select from pg_index y join pg_class j on j.oid = y.indexrelid where y.indrelid = s.fresh and j.relname = i.relname)
union select format('column %I (of %s)', a.attname, s.relname)
from switched s join pg_attribute a on a.attrelid = s.live and a.attnum > 0 and not a.attisdropped
where not exists (select from pg_attribute b where b.attrelid = s.fresh and b.attname = a.attname and not b.attisdropped)
order by name`;

/** Copies owners and grants to the new tables. The owner gives each grant, also where somebody else gave the old one. */
export const KEEP_GRANTS = `
do $$
declare
  it record; given record;
begin
  for it in select *, case relkind when 'r' then 'table' else 'sequence' end as what from ${SWITCHED} s where live is not null loop
    if it.fresh_owner <> it.live_owner then
      execute format('alter %s FRESH.%I owner to %s', it.what, it.relname, it.live_owner::regrole);
    end if;
    for given in
      select g.privilege_type as privilege, '' as of_column, g.grantee, g.is_grantable
      from aclexplode(it.relacl) g where g.grantee <> it.live_owner
      union all
      select g.privilege_type, format('(%I)', a.attname), g.grantee, g.is_grantable
      from pg_attribute a cross join lateral aclexplode(a.attacl) g
      where a.attrelid = it.live and a.attacl is not null and not a.attisdropped
    loop
      execute format('grant %s %s on %s FRESH.%I to %s%s', given.privilege, given.of_column, it.what, it.relname,
        case when given.grantee = 0 then 'public' else given.grantee::regrole::text end,
        case when given.is_grantable then ' with grant option' else '' end);
    end loop;
  end loop;
end $$`;

/** Records openings of a batch whose workflow is placed elsewhere: their rows are skipped, and their places are kept. */
export const KEEP_STRAYS = `
insert into rebuild_strays (workflow, partition)
select g.workflow, g.partition from unnest($1::text[], $2::int4[]) as g (workflow, partition)
join placements p on p.workflow = g.workflow collate "C" and p.partition <> g.partition
on conflict do nothing`;

/**
 * Where each workflow belongs whose opening was found elsewhere than where it is placed, or about which the two sets of rows disagree. The
 * placement in use decides, if an opening was found there or is on its way; else the row in use, if an opening was found there; else the
 * only place where one was found. `wanted` null: none of these decides. Both sets stand at the same positions. Cost: 0.2 s for 100,000
 * workflows.
 */
const JUDGED = `(
  with asked as (
    select workflow from FRESH.rebuild_strays
    union
    select f.workflow from FRESH.placements f join LIVE.placements l on l.workflow = f.workflow and l.partition <> f.partition
  ), found as (
    select workflow, partition from FRESH.rebuild_strays
    union
    select w.workflow, w.partition from FRESH.workflows w join asked a on a.workflow = w.workflow
  ), judged as (
    select a.workflow, h.partition as home, l.partition as placed, l.appended, w.partition as lives,
      coalesce(bool_or(f.partition = l.partition), false) as found_placed,
      coalesce(bool_or(f.partition = w.partition), false) as found_living,
      count(distinct f.partition) as found_count, min(f.partition) as found_first
    from asked a
    join FRESH.placements h on h.workflow = a.workflow
    left join LIVE.placements l on l.workflow = a.workflow
    left join LIVE.workflows w on w.workflow = a.workflow
    left join found f on f.workflow = a.workflow
    group by a.workflow, h.partition, l.partition, l.appended, w.partition
  )
  select workflow, home, case
    when found_placed then placed
    when found_living then lives
    when not appended and lives is null then placed
    when found_count = 0 then home
    when found_count = 1 then found_first end as wanted
  from judged)`;

/** Counts those that belong elsewhere, and names those for which nothing decides. */
export const FIND_MISPLACED = `
select count(*) filter (where wanted <> home), array_to_string((array_agg(workflow order by workflow) filter (where wanted is null))[1:5], ', ')
from ${JUDGED} j`;

/** Names those in use whose opening was found nowhere. */
export const FIND_UNOPENED = `
select array_to_string((array_agg(w.workflow order by w.workflow))[1:5], ', '), count(*)
from LIVE.workflows w join LIVE.placements l on l.workflow = w.workflow and l.appended
where not exists (select from FRESH.workflows f where f.workflow = w.workflow)
  and not exists (select from FRESH.rebuild_strays s where s.workflow = w.workflow)`;

/** Every partition is to be folded again, by projectors that read the new `storeId`; what was found stays. One transaction. */
export const RESTART = `
insert into FRESH.rebuild_homes (workflow, tenant, partition, generation, mode, placed_at, session)
select j.workflow, coalesce(l.tenant, w.tenant, h.tenant), j.wanted, h.generation, h.mode, h.placed_at, l.session
from ${JUDGED} j join FRESH.placements h on h.workflow = j.workflow
left join LIVE.placements l on l.workflow = j.workflow left join LIVE.workflows w on w.workflow = j.workflow
where j.wanted <> j.home
on conflict (workflow) do update set partition = excluded.partition;
do $$ begin
  execute (select 'truncate ' || string_agg(format('FRESH.%I', relname), ', ') || ', FRESH.rebuild_strays restart identity'
    from ${SWITCHED} s where relkind = 'r' and relname <> 'meta');
end $$;
update FRESH.meta set incarnation = gen_random_uuid(), ready = false`;

/** Copies where each workflow was placed: of openings in several partitions one was refused, and folding alone can't say which. */
export const SEED_PLACEMENTS = `
insert into FRESH.placements (workflow, tenant, partition, generation, mode, opening, appended, live, placed_at, session)
select workflow, tenant, partition, generation, mode, '', true, true, placed_at, session from FRESH.rebuild_homes
on conflict (workflow) do nothing;
insert into FRESH.placements (workflow, tenant, partition, generation, mode, opening, appended, live, placed_at, session)
select workflow, tenant, partition, generation, mode, '', true, true, placed_at, session from LIVE.placements
where appended on conflict (workflow) do nothing`;
