/**
 * Owns what the second version adds: pins, corrections, and requests beside outcomes. Folded states have new members, so rows are
 * rebuilt from the log; placements stay, since one may hold an opening that isn't in the log yet.
 */

export const name = '0002-outcomes';

export const sql = `
alter table workflows add column pinned boolean not null default false;
alter table checkpoints add column supersedes bigint;
-- Payload of the intention, which stays beside the outcome's.
alter table effects add column request text;

-- Few at a time, and looked for again and again.
create index workflows_compensating on workflows (workflow) where status = 'compensating';

-- A coordinator of the first version that still runs fails from now on, instead of writing states of its version.
alter function tidemark_expect(bigint, bigint) rename to tidemark_expect_2;

truncate workflows, tasks, checkpoints, effects, events, timers, rejected;
update partitions set rebuild_to = greatest(rebuild_to, next), next = 0, generation = 0;
update meta set ready = false;
`;
