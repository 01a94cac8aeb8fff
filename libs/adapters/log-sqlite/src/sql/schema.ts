/** Owns the tables of a log, and their upgrade from an older format. */

/**
 * Creates the tables of a new log. Records lie in the order of their arrival, whatever their partition, so that a group
 * of appends to a thousand partitions writes few pages (measured: 90k records/s, against 9k/s with the records keyed by
 * partition and offset); the index finds those of one partition. `crc` is the CRC-32 of the unpacked value.
 * Where `packing` isn't 0 the value is packed (see packed-records.ts), and `type` holds the capitals of the type alone.
 */
export const createSchema = `
create table partitions (
  partition integer primary key,
  start integer not null default 0
) strict;
create table records (
  arrival integer primary key,
  partition integer not null,
  "offset" integer not null,
  crc integer not null,
  type text not null,
  trace text,
  value blob not null,
  packing integer not null default 0,
  base integer,
  base_records integer not null default 0
) strict;
create unique index records_by_offset on records (partition, "offset");
`;

/** What brings the tables of each format to the next: the first those of format 1 to format 2. */
export const UPGRADES: readonly string[] = [];
