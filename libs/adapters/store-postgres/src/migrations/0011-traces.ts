/** Owns what the eleventh version adds: up to where each partition's spans were exported to a collector. */

export const name = '0011-traces';

export const sql = `
-- Partition -1 stands for the table itself: it is there once anything was remembered.
create table trace_cursors (
  partition int primary key,
  next bigint not null
);
`;
