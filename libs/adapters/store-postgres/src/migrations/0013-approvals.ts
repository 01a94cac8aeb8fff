/** Owns what people are asked being found without reading the tasks that ask nobody, the oldest first. */

export const name = '0013-approvals';

/**
 * When a person was asked, in milliseconds, of a task that waits for an answer and for no other task; else null. By the state that core
 * serialises: quotes within its texts are escaped, so none of them looks like a member. A column of its own, since an index on the state would
 * be touched by every update of it.
 */
const ASKED_AT = `case
    when position('"kind":"approval"' in state) > 0 and position('"after":[],"barrierCount":0,' in state) > 0
    then substring(state from '"askedAtMs":([0-9]{1,16})')::bigint
  end`;

export const sql = `
alter table tasks add column asked_at_ms bigint generated always as (${ASKED_AT}) stored;
create index tasks_asking on tasks (asked_at_ms, workflow, rank) where asked_at_ms is not null;
`;
