/** Brings the tables of format 1 to format 2, where records may be packed. Rows are not touched: theirs are not. */
export const upgradeFormat1 = `
alter table records add column packing integer not null default 0;
alter table records add column base integer;
alter table records add column base_records integer not null default 0;
pragma user_version = 2;
`;
