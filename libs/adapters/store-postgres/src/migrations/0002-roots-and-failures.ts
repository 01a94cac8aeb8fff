/**
 * What lists ask: runs that nobody else has started, and failures that are alike. Vectors have one form: where an extension's type held
 * them they are computed again.
 */
export const name = '0002-roots-and-failures';

export const sql = `
-- The form of an id says whose child or undo a workflow is. The failure: the fingerprint of the newest that it has not got past.
alter table workflows
  add column is_root boolean generated always as (workflow !~ '~([0-9]+[.][0-9]+(~[0-9]+)?|undo)$') stored,
  add column failure text
    generated always as (substring(state from '"failure":\\{"fingerprint":"([0-9a-f]{12})"')) stored;
-- A parent may have thousands of children.
create index workflows_roots on workflows (opened_at_ms desc, workflow) where is_root;
-- Failures are counted from it alone.
create index workflows_of_failure on workflows (failure, opened_at_ms desc, workflow) include (tenant, definition, status)
  where failure is not null;
drop index workflows_to_continue;
create index workflows_to_continue on workflows (workflow)
  where status = 'completed' and reason in ('continued', 'superseded') and not is_continued;
do $$ begin
  if (select format_type(atttypid, null) from pg_attribute
    where attrelid = 'memory_embeddings'::regclass and attname = 'embedding' and not attisdropped) is distinct from 'bytea' then
    truncate memory_embeddings;
    alter table memory_embeddings drop column if exists embedding;
    alter table memory_embeddings add column embedding bytea not null;
    alter table memory_embeddings alter column embedding set statistics 0;
  end if;
end $$;
`;
