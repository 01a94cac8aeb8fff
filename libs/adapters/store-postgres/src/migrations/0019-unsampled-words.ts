/**
 * Owns what the nineteenth version removes: the samples of columns that Postgres keeps for its planner in tables of its own, where they
 * would outlast what is forgotten.
 */

export const name = '0019-unsampled-words';

/** Columns of words, their vectors and wrapped keys. No plan needs samples of them: statements find their rows by indexes, whatever the values are. */
export const sql = `
alter table memories alter column words set statistics 0, alter column words_vector set statistics 0;
alter table memory_embeddings alter column embedding set statistics 0;
alter table data_keys alter column wrapped set statistics 0;
`;
