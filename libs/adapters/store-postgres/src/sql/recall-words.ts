/**
 * The subject's entries that contain the words, the best first. Inputs: tenant, subject (I9), kinds, any text. Locks: none. Index:
 * memories_words, which a setting of the connections disables and `wordSearch` allows for its transaction.
 *
 * Postgres's own rank ignores how rare a word is, so each word's rank (`ts_rank`, which grows ever slower with repetition, and counts the
 * first line more) is weighed by its rarity among the subject's entries, as BM25 does. The rarest words select the candidates as long as
 * these are few (the newest entries of the rarest word alone, should it be everywhere); the others only add to their scores. So a common
 * word costs a count. The score is the share of the query's weight that was found: words that stand nowhere lower it, so that a query with
 * one common word found scores low beside its meaning. Long entries count a little less.
 */

import type { RecallQuery } from '@tidemark/ports';
import { BEGIN, COMMIT, type Statement } from '../sql-client.ts';
import { kindList } from './read-memories.ts';

/** Rows that the rarest words of a query select as candidates; the other words only add to their scores. */
const WORD_CANDIDATES_MAX = 200;
/** Entries of a subject, and of a word in them, that are counted for the rarity of words. A word that stands in more weighs next to nothing. */
const COUNTED_ENTRIES_MAX = 2_000;
/** Distinct words of a query that are searched for. */
const WORD_TERMS_MAX = 40;

/** What `ts_rank` answers for a word that stands once in the first line: 6 / π². */
const FOUND_ONCE = 0.6079;
/** D, C, B, A: of body and first line. */
const WEIGHTS = `'{0.5, 0.5, 0.5, 1.0}'`;

const search = `
with scope as materialized (
  select '''#' || md5($1::text || chr(10) || $2::text) || '''' as term
), total as materialized (
  select count(*)::float8 as entries from (
    select from scope, memories where words_vector @@ scope.term::tsquery limit ${COUNTED_ENTRIES_MAX}
  ) entry
), terms as materialized (
  select quoted::tsquery as term, (scope.term || ' & ' || quoted)::tsquery as scoped, lexeme
  from scope, (
    select lexeme, '''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || '''' as quoted
    from unnest(to_tsvector('english', left($4::text, 20000))) limit ${WORD_TERMS_MAX}
  ) given
), counted as materialized (
  select term, scoped, found, sum(found) over (order by found, lexeme) - found as before
  from terms cross join lateral (
    select count(*) as found from (
      select from memories where words_vector @@ scoped limit ${COUNTED_ENTRIES_MAX}
    ) entry
  ) c
), weighed as materialized (
  select term, scoped, found, before, ln(1 + (greatest(entries - found, 0) + 0.5) / (found + 0.5)) as weight
  from counted, total
), candidates as materialized (
  select distinct c.id from weighed cross join lateral (
    select id from memories where words_vector @@ scoped
    order by case when found > ${WORD_CANDIDATES_MAX} then lamport end desc nulls first, id limit ${WORD_CANDIDATES_MAX}
  ) c
  where found > 0 and (before = 0 or before + found <= ${WORD_CANDIDATES_MAX})
)
select m.id, s.score, m.lamport, m.kind, m.key
from candidates cross join lateral (
  select id, lamport, kind, key, words_vector from memories
  where id = candidates.id and tenant = $1 and subject = $2 and kind = any ($3::text[]) and not is_forgotten
  offset 0
) m cross join lateral (
  select least(1, sum(weight * ts_rank(${WEIGHTS}, m.words_vector, term, 0)) / sum(weight) / ${FOUND_ONCE}
    / (1 + 0.15 * ln(1 + length(m.words_vector)))) as score
  from weighed
) s
order by s.score desc, m.lamport desc, m.kind, m.key limit $5`;

const allowIndex: Statement = { name: 'allow-bitmaps', text: 'set local enable_bitmapscan = on', values: [] };

/** Index of the rows among the results of `wordSearch`. */
export const WORDS_AT = 2;

export const wordSearch = (query: RecallQuery, limit: number): readonly Statement[] => [
  BEGIN,
  allowIndex,
  {
    name: 'recall-words',
    text: search,
    values: [query.tenant, query.subject, kindList(query.kinds), query.words, String(limit)],
  },
  COMMIT,
];
