/**
 * Upserts entries of memory: the greatest write of a key wins (M1). Then deletes the embeddings of words that have changed. Inputs: one row
 * for each key, in the order of `newestWrites`. Locks: the rows. Index: memories_key (hashes, since names may be longer than an index
 * entry). Two statements: the second sees embeddings that were written while the first waited.
 */

import type { MemoryRow } from '@tidemark/ports';
import { texts } from '../binary-array.ts';
import { bool, excluded, float8, insertion, int8, text } from '../insertion.ts';
import type { Statement } from '../sql-client.ts';

export const putMemories = insertion<MemoryRow>(
  'put-memories',
  'memories',
  {
    tenant: text((row) => row.tenant),
    subject: text((row) => row.subject),
    kind: text((row) => row.kind),
    key: text((row) => row.key),
    // M2: the writer does not matter.
    value: text((row) => (row.isForgotten ? 'null' : row.value)),
    words: text((row) => (row.isForgotten ? '' : row.words)),
    source: text((row) => row.source),
    at_ms: float8((row) => row.atMs),
    workflow: text((row) => row.workflow),
    position: int8((row) => row.position),
    ordinal: int8((row) => row.ordinal),
    lamport: int8((row) => row.lamport),
    is_forgotten: bool((row) => row.isForgotten),
    mark: "nextval('memory_marks')",
  },
  `
on conflict (tenant, hashtextextended(subject, 0), hashtextextended(subject, 1), kind, hashtextextended(key, 0),
  hashtextextended(key, 1)) do update set
  ${excluded('value', 'words', 'source', 'at_ms', 'workflow', 'position', 'ordinal', 'lamport', 'is_forgotten')},
  mark = case when excluded.words = memories.words then memories.mark else excluded.mark end
where (excluded.lamport, excluded.workflow, excluded.position, excluded.ordinal)
  > (memories.lamport, memories.workflow, memories.position, memories.ordinal)`,
);

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
