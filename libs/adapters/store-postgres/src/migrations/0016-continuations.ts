/** Owns what the sixteenth version adds: an index of workflows that continue as a new run, until that run has begun. */

export const name = '0016-continuations';

/** `is_continued` says that the next run has begun, so that a poll reads few rows. A rebuild derives it again. */
export const sql = `
alter table workflows add column is_continued boolean not null default false;
create index workflows_to_continue on workflows (workflow)
  where status = 'completed' and reason = 'continued' and not is_continued;
`;
