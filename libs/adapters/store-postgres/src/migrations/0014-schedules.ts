/** Owns what the fourteenth version adds: an index of schedules among all workflows. */

export const name = '0014-schedules';

export const sql = `
create index workflows_schedules on workflows (opened_at_ms desc, workflow) where definition like '%~schedule';
`;
