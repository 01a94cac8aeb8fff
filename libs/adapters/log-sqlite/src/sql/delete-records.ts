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
