/** Deletes the first records of a partition. In: partition, first offset that stays, greatest number. Index: records_by_offset. */
export const deleteRecords = `
delete from records where arrival in (
  select arrival from records where partition = ? and "offset" < ? order by "offset" limit ?
)
`;
