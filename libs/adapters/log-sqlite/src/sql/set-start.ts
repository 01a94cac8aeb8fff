/** Moves the start of a partition. In: start, partition. */
export const setStart = 'update partitions set start = ? where partition = ?';
