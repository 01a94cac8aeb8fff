/** Owns what the thirteenth version adds: an index of tasks that wait for a person's answer, the oldest first. */

export const name = '0013-approvals';

/**
 * When a person was asked, in milliseconds, for a task that waits for an answer and for no other task; else null. It reads the state that
 * core serialises, in which quotes within texts are escaped, so no text looks like a member. It is a column of its own, since every update
 * of a state would touch an index on it.
 */
const ASKED_AT = `case
    when position('"kind":"approval"' in state) > 0 and position('"after":[],"barrierCount":0,' in state) > 0
    then substring(state from '"askedAtMs":([0-9]{1,16})')::bigint
  end`;

export const sql = `
alter table tasks add column asked_at_ms bigint generated always as (${ASKED_AT}) stored;
create index tasks_asking on tasks (asked_at_ms, workflow, rank) where asked_at_ms is not null;
`;
