/** Owns what the eleventh version adds: how far the spans of each partition were handed to a collector. */

export const name = '0011-traces';

export const sql = `
-- Partition -1 stands for the table itself: it is there once anything was remembered.
create table trace_cursors (
  partition int primary key,
  next bigint not null
);
`;
