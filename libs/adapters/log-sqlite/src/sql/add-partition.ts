/** Adds one empty partition. In: its number. */
export const addPartition = 'insert into partitions (partition) values (?)';
