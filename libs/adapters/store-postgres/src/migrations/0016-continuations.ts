/** Owns workflows that go on with a fresh history being found until the next one has begun. */

export const name = '0016-continuations';

/** `is_continued` says that nothing is owed any more, so that a look reads few rows; rebuilt, it is found out again. */
export const sql = `
alter table workflows add column is_continued boolean not null default false;
create index workflows_to_continue on workflows (workflow)
  where status = 'completed' and reason = 'continued' and not is_continued;
`;
