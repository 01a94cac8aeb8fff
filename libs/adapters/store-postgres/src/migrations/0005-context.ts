/**
 * Owns what the fifth version adds: what a workflow's model calls see and spend. Older logs hold nothing of it, so no row is
 * rebuilt.
 */

export const name = '0005-context';

export const sql = `
-- A coordinator of an earlier version that still runs fails from now on: it would park streams whose events it doesn't know.
alter function tidemark_expect_3(bigint, bigint) rename to tidemark_expect_5;

create table fragments (
  workflow text collate "C" not null,
  sequence bigint not null,
  index integer not null,
  type text not null,
  digest text collate "C" not null,
  call text,
  tool text,
  -- Of a summary: what it stands for, as JSON; and the end of that, by which fragments are looked for.
  covers text,
  covered_sequence bigint,
  covered_index integer,
  primary key (workflow, sequence, index)
);
create index fragments_directives on fragments (workflow, type, sequence desc)
  where type in ('task_goal', 'constraint', 'summary', 'checkpoint_note');

create table texts (
  workflow text collate "C" not null,
  digest text collate "C" not null,
  text text not null,
  primary key (workflow, digest)
);

create table scopes (
  workflow text collate "C" not null,
  sequence bigint not null,
  is_whole boolean not null,
  change text not null,
  primary key (workflow, sequence)
);

create table spends (
  workflow text collate "C" not null,
  key text collate "C" not null,
  tenant text collate "C" not null,
  user_id text collate "C",
  at_ms double precision not null,
  tokens double precision not null,
  cost_micros double precision not null,
  is_settled boolean not null
);
create unique index spends_key on spends (workflow, hashtextextended(key, 0), hashtextextended(key, 1));
create index spends_tenant on spends (tenant, at_ms);

create table sessions (
  tenant text collate "C" not null,
  session text collate "C" not null,
  workflow text collate "C" not null,
  user_id text collate "C",
  lamport bigint not null
);
create unique index sessions_key on sessions (workflow);
create index sessions_newest on sessions (tenant, hashtextextended(session, 0), lamport desc);
`;
