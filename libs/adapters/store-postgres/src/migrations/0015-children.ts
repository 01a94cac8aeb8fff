/** Owns what the fifteenth version adds: indexes of tasks that wait for children, and of children whose parents end. */

export const name = '0015-children';

export const sql = `
-- Quotes within the texts of states are escaped, so none of them looks like a member.
alter table tasks add column waits_child boolean
  generated always as (position('"kind":"child"' in state) > 0) stored;
create index tasks_of_children on tasks (workflow, rank) where waits_child;
alter table workflows add column is_bound boolean
  generated always as (position('"parent":{' in state) > 0 and position('"onClose":"abandon"' in state) = 0) stored;
create index workflows_bound on workflows (workflow) where is_bound and closed_in_generation is null;
`;
