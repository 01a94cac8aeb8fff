/**
 * Owns what the nineteenth version takes out of Postgres' own notes: samples of columns, which it keeps for its planner in tables of its own,
 * where they would outlast what is forgotten.
 */

export const name = '0019-unsampled-words';

/** Of words, their vectors and wrapped keys. No plan needs them: statements find their rows by indexes, whatever is in them. */
export const sql = `
alter table memories alter column words set statistics 0, alter column words_vector set statistics 0;
alter table memory_embeddings alter column embedding set statistics 0;
alter table data_keys alter column wrapped set statistics 0;
`;
