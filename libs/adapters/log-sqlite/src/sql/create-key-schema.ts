/**
 * Creates the tables of a new store of wrapped keys. `destroyed_keys` remembers every id for ever (some 40 bytes each), so that none
 * comes back. A row in `scrubs`: the file may still hold bytes of keys that were destroyed.
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
