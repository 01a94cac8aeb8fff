/**
 * Owns what the twenty-first version adds: an index of checkpoints by the checkpoints that they correct, so that a page of a history can
 * say which were superseded.
 */

export const name = '0021-corrections';

export const sql = `
-- Few checkpoints correct another, and the index holds those alone. Writers wait while it is made, which goes through the table once.
create index checkpoints_corrections on checkpoints (workflow, supersedes, sequence) where supersedes is not null;
`;
