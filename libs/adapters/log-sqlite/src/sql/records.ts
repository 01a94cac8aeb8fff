/** Owns the statements about records and partitions of a log. */

/** Adds one empty partition. In: its number. */
export const addPartition = 'insert into partitions (partition) values (?)';

/** Appends one record. In: partition, offset, crc, type, trace, value, packing, base, number of the base's records. Index: records_by_offset (unique, L1). */
export const appendRecord = `
insert into records (partition, "offset", crc, type, trace, value, packing, base, base_records)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
`;

/** Every partition with its start and the offset after its last record; null when it holds none. One read of records_by_offset for each. */
export const readPartitions = `
select partition, start, (
  select max("offset") + 1 from records where records.partition = partitions.partition
) as "end"
from partitions order by partition
`;

/** Records of a partition from an offset on, in offset order. In: partition, offset. Index: records_by_offset. */
export const readRecords = `
select "offset", crc, value, packing, base, base_records
from records where partition = ? and "offset" >= ? order by "offset"
`;

/**
 * The base that lies before a partition's start and is needed after it; there is one at most, since bases follow each other. In: partition,
 * start, first offset that no base before the start reaches, start. Reads `BASE_REACH_RECORDS` rows at most. Index: records_by_offset.
 */
export const neededBase = `
select base, base_records as records
from records where partition = ? and "offset" >= ? and "offset" < ? and base < ? order by "offset" limit 1
`;

/**
 * Deletes the first records of a partition, but for a base that is needed. In: partition, first offset that stays, first and
 * last offset of the base, greatest number. Index: records_by_offset.
 */
export const deleteRecords = `
delete from records where arrival in (
  select arrival from records
  where partition = ? and "offset" < ? and "offset" not between ? and ? order by "offset" limit ?
)
`;

/** Moves the start of a partition. In: start, partition. */
export const setStart = 'update partitions set start = ? where partition = ?';
