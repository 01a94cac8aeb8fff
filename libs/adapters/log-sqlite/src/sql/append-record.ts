/**
 * Appends one record. In: partition, offset, crc, type, trace, value, packing, base, number of the base's records. Index:
 * records_by_offset (unique, L1).
 */
export const appendRecord = `
insert into records (partition, "offset", crc, type, trace, value, packing, base, base_records)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
`;
