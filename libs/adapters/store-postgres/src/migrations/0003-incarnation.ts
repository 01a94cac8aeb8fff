/**
 * Owns what the third version adds: the identity of these tables, new for each rebuild. Effects in folded states have a new member, so rows
 * are rebuilt from the log, as by the second version.
 */

export const name = '0003-incarnation';

export const sql = `
alter table meta add column incarnation uuid not null default gen_random_uuid();

-- A coordinator of an earlier version that still runs fails from now on, instead of writing states of its version.
alter function tidemark_expect_2(bigint, bigint) rename to tidemark_expect_3;

truncate workflows, tasks, checkpoints, effects, events, timers, rejected;
update partitions set rebuild_to = greatest(rebuild_to, next), next = 0, generation = 0;
update meta set ready = false;
`;
