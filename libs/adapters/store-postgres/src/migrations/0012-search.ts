/**
 * Owns what the twelfth version adds: columns by which workflows are found among very many (session, user, tags, words), and an index for
 * each query of a list, in the order of lists. No checkpoint changes any of these columns, so updates still touch no index.
 */

export const name = '0012-search';

export const sql = `
-- A coordinator of an earlier version that still runs fails from now on: what it wrote could not be found.
alter function tidemark_expect_10(bigint, bigint) rename to tidemark_expect_12;

alter table workflows
  add column session text,
  add column user_id text,
  add column tags text[] not null default '{}',
  -- Of the id, the definition, the session, the user and the tags; see searchWords in ports.
  add column words tsvector not null default '';

update workflows set session = (nullif(state, '')::json) ->> 'session', user_id = (nullif(state, '')::json) ->> 'user';
update workflows set words = to_tsvector('simple',
  regexp_replace(concat_ws(' ', workflow, definition, session, user_id), '[^[:alnum:]]+', ' ', 'g'));

create index workflows_of_tenant on workflows (tenant, opened_at_ms desc, workflow);
create index workflows_of_definition on workflows (definition, opened_at_ms desc, workflow);
-- Statuses are counted from it alone.
create index workflows_of_status on workflows (status, opened_at_ms desc, workflow) include (tenant, definition);
create index workflows_of_session on workflows (session, opened_at_ms desc, workflow) where session is not null;
create index workflows_of_user on workflows (user_id, opened_at_ms desc, workflow) where user_id is not null;
create index workflows_tags on workflows using gin (tags) where tags <> '{}';
create index workflows_words on workflows using gin (words);
`;
