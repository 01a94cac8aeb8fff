/**
 * The base that lies before a partition's start and is needed after it; there is one at most, since bases follow each other.
 * In: partition, start, first offset that no base before the start reaches, start. Reads `BASE_REACH_RECORDS` rows at most.
 * Index: records_by_offset.
 */
export const neededBase = `
select base, base_records as records
from records where partition = ? and "offset" >= ? and "offset" < ? and base < ? order by "offset" limit 1
`;
