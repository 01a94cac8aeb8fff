/** Owns the statements about wrapped keys. */

/**
 * Creates the tables of a new store of wrapped keys. `destroyed_keys` remembers every id permanently (some 40 bytes each), so that none
 * comes back. A row in `scrubs`: the file may still hold bytes of destroyed keys.
 */
export const createKeySchema = `
create table data_keys (
  id text primary key,
  tenant text not null,
  workflow text not null,
  user_id text,
  provider text not null,
  wrapped_by text not null,
  wrapped text not null
) strict, without rowid;
create index data_keys_by_workflow on data_keys (tenant, workflow, id);
create table destroyed_keys (id text primary key) strict, without rowid;
create table scrubs (id integer primary key check (id = 1)) strict;
`;

/** One key. In: id. Index: the primary key. */
export const readKey = `
select id, tenant, workflow, user_id as user, provider, wrapped_by as "wrappedBy", wrapped from data_keys where id = ?
`;

/**
 * Keys after an id, by id; tenant, workflows and user narrow it unless they are null. In: the id, tenant, workflows as an array of JSON,
 * user, greatest number. Uses the primary key in any case.
 */
export const listKeys = `
select id, tenant, workflow, user_id as user, provider, wrapped_by as "wrappedBy", wrapped from data_keys
where id > ?1 and (?2 is null or tenant = ?2) and (?3 is null or workflow in (select value from json_each(?3))) and (?4 is null or user_id = ?4)
order by id limit ?5
`;

/** As listKeys, where tenant and workflows are given. Index: data_keys_by_workflow. */
export const listKeysOfWorkflow = `
select id, tenant, workflow, user_id as user, provider, wrapped_by as "wrappedBy", wrapped from data_keys
where id > ?1 and tenant = ?2 and workflow in (select value from json_each(?3)) and (?4 is null or user_id = ?4)
order by id limit ?5
`;

/**
 * Stores one key, or its newer wrapping; nothing when its id was destroyed. In: id, tenant, workflow, user, provider, wrapped_by, wrapped.
 * Indexes: the primary keys of data_keys and destroyed_keys.
 */
export const putKey = `
insert into data_keys (id, tenant, workflow, user_id, provider, wrapped_by, wrapped)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7 where not exists (select 1 from destroyed_keys where id = ?1)
on conflict (id) do update set
  provider = excluded.provider, wrapped_by = excluded.wrapped_by, wrapped = excluded.wrapped
`;

/**
 * Deletes one key permanently, notes that the file needs a scrub, and checks that the id counts as destroyed. All run in one transaction.
 * In each: id; `noteScrub` has none. Indexes: the primary keys.
 */
export const rememberDestroyed = 'insert into destroyed_keys (id) values (?) on conflict (id) do nothing';
export const removeKey = 'delete from data_keys where id = ?';
export const noteScrub = 'insert into scrubs (id) values (1) on conflict (id) do nothing';
export const readDestroyed = 'select 1 from destroyed_keys where id = ?';
