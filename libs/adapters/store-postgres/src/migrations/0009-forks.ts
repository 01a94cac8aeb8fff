/** Owns what the ninth version adds: which workflow is a fork of which, so that no history is deleted that another one shares. */

export const name = '0009-forks';

export const sql = `
-- A coordinator of an earlier version that still runs fails from now on: it would not note whose history a fork shares.
alter function tidemark_expect_8(bigint, bigint) rename to tidemark_expect_9;

alter table workflows
  add column fork_of text collate "C",
  add column fork_at bigint,
  add column fork_effects text;
create index workflows_forks on workflows (fork_of, workflow) where fork_of is not null;
`;
