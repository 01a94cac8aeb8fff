/**
 * Deletes every row but those that the migrations themselves insert, and gives the tables a new `storeId`. For stores that are thrown away.
 * Inputs: none. Locks: all tables. Cost: some 50 ms.
 */

/** Tables that the migrations fill. */
const FILLED_TABLES: readonly string[] = ['meta', 'ranges', 'tidemark_migrations', 'tidemark_expansions'];

/** The names of the others, quoted. */
export const OTHER_TABLES = `
select format('%I', relname) as name from pg_class
where relkind = 'r' and relnamespace = 'public'::regnamespace
  and relname not in (${FILLED_TABLES.map((name) => `'${name}'`).join(', ')})`;

/** Each database has a `storeId` of its own. */
export const RENAME_TABLES = 'update meta set incarnation = gen_random_uuid()';

export const EMPTY_TABLES = `
do $$ declare name text; has_rows boolean; begin
  for name in ${OTHER_TABLES} loop
    -- To truncate a table that has no row takes as long as one that has.
    execute 'select exists (select from ' || name || ')' into has_rows;
    if has_rows then execute 'truncate ' || name || ' restart identity'; end if;
  end loop;
end $$;
update ranges set owner = null;
update meta set ready = false;
${RENAME_TABLES}`;
