/** Records of a partition from an offset on, in offset order. In: partition, offset. Index: records_by_offset. */
export const readRecords = `
select "offset", crc, value, packing, base, base_records
from records where partition = ? and "offset" >= ? order by "offset"
`;
