/**
 * Upserts entries of memory: the greatest write of a key wins (M1). Then deletes the embeddings of words that have changed. Inputs: one row
 * for each key, in the order of `newestWrites`. Locks: the rows. Index: memories_key (hashes, since names may be longer than an index
 * entry). Two statements: the second sees embeddings that were written while the first waited.
 */

import type { MemoryRow } from '@tidemark/ports';
import { bools, float8s, int8s, texts } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const put = `
insert into memories (tenant, subject, kind, key, value, words, source, at_ms, workflow, position, ordinal, lamport,
  is_forgotten, mark)
select unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::text[]),
  unnest($6::text[]), unnest($7::text[]), unnest($8::float8[]), unnest($9::text[]), unnest($10::int8[]),
  unnest($11::int8[]), unnest($12::int8[]), unnest($13::bool[]), nextval('memory_marks')
on conflict (tenant, hashtextextended(subject, 0), hashtextextended(subject, 1), kind, hashtextextended(key, 0),
  hashtextextended(key, 1)) do update set
  value = excluded.value, words = excluded.words, source = excluded.source, at_ms = excluded.at_ms,
  workflow = excluded.workflow, position = excluded.position, ordinal = excluded.ordinal, lamport = excluded.lamport,
  is_forgotten = excluded.is_forgotten,
  mark = case when excluded.words = memories.words then memories.mark else excluded.mark end
where (excluded.lamport, excluded.workflow, excluded.position, excluded.ordinal)
  > (memories.lamport, memories.workflow, memories.position, memories.ordinal)`;

export function putMemories(rows: readonly MemoryRow[]): Statement {
  return {
    name: 'put-memories',
    text: put,
    values: [
      texts(rows, (row) => row.tenant),
      texts(rows, (row) => row.subject),
      texts(rows, (row) => row.kind),
      texts(rows, (row) => row.key),
      // M2: the writer does not matter.
      texts(rows, (row) => (row.isForgotten ? 'null' : row.value)),
      texts(rows, (row) => (row.isForgotten ? '' : row.words)),
      texts(rows, (row) => row.source),
      float8s(rows, (row) => row.atMs),
      texts(rows, (row) => row.workflow),
      int8s(rows, (row) => row.position),
      int8s(rows, (row) => row.ordinal),
      int8s(rows, (row) => row.lamport),
      bools(rows, (row) => row.isForgotten),
    ],
  };
}

const drop = `
delete from memory_embeddings
where id = any (array(
  select m.id
  from (select unnest($1::text[]) as tenant, unnest($2::text[]) as subject, unnest($3::text[]) as kind,
    unnest($4::text[]) as key) given
  cross join lateral (
    select id from memories
    where tenant = given.tenant and hashtextextended(subject, 0) = hashtextextended(given.subject, 0)
      and hashtextextended(subject, 1) = hashtextextended(given.subject, 1) and kind = given.kind
      and hashtextextended(key, 0) = hashtextextended(given.key, 0)
      and hashtextextended(key, 1) = hashtextextended(given.key, 1)
    offset 0
  ) m
))
and mark <> (select m.mark from memories m where m.id = memory_embeddings.id)`;

export function dropStaleEmbeddings(rows: readonly MemoryRow[]): Statement {
  return {
    name: 'drop-stale-embeddings',
    text: drop,
    values: [
      texts(rows, (row) => row.tenant),
      texts(rows, (row) => row.subject),
      texts(rows, (row) => row.kind),
      texts(rows, (row) => row.key),
    ],
  };
}
