/**
 * Every partition with its start and the offset after its last record; null when it holds none. One look into
 * records_by_offset for each.
 */
export const readPartitions = `
select partition, start, (
  select max("offset") + 1 from records where records.partition = partitions.partition
) as "end"
from partitions order by partition
`;
