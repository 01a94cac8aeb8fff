/**
 * Embeddings: which entries have none, writing them, and reading a subject's for the search (../vector-search.ts). Inputs: model, tenant
 * and subject (I9; not for `readUnembedded`, which serves the indexer). Locks: the entry whose embedding is written, shared. Index:
 * memories_mark, memory_embeddings_subject, primary keys. There is no index of neighbours: a subject's rows are few, and the search is exact.
 */

import type { MemoryEmbedding, RecallQuery } from '@tidemark/ports';
import { int4s, int8s, texts } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

/** Orders entries by mark, and skips those that are embedded. */
export const readUnembedded = (model: string, limit: number, after: number): Statement => ({
  name: 'read-unembedded',
  text: `
select m.id, m.mark, m.words from memories m
where m.words <> '' and m.mark > $2::int8
  -- A value, not a join, whose inner side the planner might read whole for each row.
  and m.mark is distinct from (select e.mark from memory_embeddings e where e.id = m.id and e.model = $1)
order by m.mark limit $3`,
  values: [model, String(after), String(limit)],
});

/** Skips an entry whose words have changed since. */
export const putEmbeddings = (rows: readonly MemoryEmbedding[]): Statement => ({
  name: 'put-embeddings',
  text: `
insert into memory_embeddings (id, model, mark, tenant, subject, kind, dimension, embedding)
select m.id, given.model, m.mark, m.tenant, m.subject, m.kind, given.dimension, decode(given.embedding, 'base64')
from (
  select unnest($1::int8[]) as id, unnest($2::int8[]) as mark, unnest($3::text[]) as model, unnest($4::int4[]) as dimension,
    unnest($5::text[]) as embedding
) given cross join lateral (
  select id, mark, tenant, subject, kind from memories where id = given.id and mark = given.mark offset 0 for share
) m
on conflict (id, model) do update set mark = excluded.mark, dimension = excluded.dimension, embedding = excluded.embedding`,
  values: [
    int8s(rows, (row) => row.id),
    int8s(rows, (row) => row.mark),
    texts(rows, (row) => row.model),
    int4s(rows, (row) => row.vector.length),
    texts(rows, ({ vector }) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')),
  ],
});

/** Finds the subject by its hashes alone, which spares a comparison for each row; the read of the entries compares the names. */
const scope = `tenant = $1 and hashtextextended(subject, 0) = hashtextextended($2::text, 0)
  and hashtextextended(subject, 1) = hashtextextended($2::text, 1) and model = $3`;

/** Changes whenever an embedding of the subject does: marks only grow. */
export const readFingerprint = (query: RecallQuery, model: string): Statement => ({
  name: 'read-embeddings-fingerprint',
  text: `select count(*), coalesce(sum(mark), 0) from memory_embeddings where ${scope}`,
  values: [query.tenant, query.subject, model],
});

/** A page of a subject's embeddings, by id after the given one. */
export const readVectors = (query: RecallQuery, model: string, after: number, limit: number): Statement => ({
  name: 'read-vectors',
  text: `
select id, mark, kind, dimension, encode(embedding, 'base64') from memory_embeddings
where ${scope} and id > $4::int8 order by id limit $5`,
  values: [query.tenant, query.subject, model, String(after), String(limit)],
});

/** The columns of an entry that decide ties, where it still has the words of the mark. */
export const readHits = (query: RecallQuery, ids: readonly number[], marks: readonly number[]): Statement => ({
  name: 'read-hits',
  text: `
select m.id, m.lamport, m.kind, m.key
from (select unnest($3::int8[]) as id, unnest($4::int8[]) as mark) given cross join lateral (
  select id, lamport, kind, key from memories
  where id = given.id and mark = given.mark and tenant = $1 and subject = $2 and not is_forgotten
  offset 0
) m`,
  values: [query.tenant, query.subject, int8s(ids, (id) => id), int8s(marks, (mark) => mark)],
});
