/**
 * Owns what the fourth version adds: long-term memory. New and empty tables: no row is rebuilt for them.
 *
 * - `words_vector` is what a search for words reads. It holds one lexeme more than the text: the scope of the row, which no text can
 *   contain ('#' is never part of a word), so that the index finds a word among one subject's rows without reading others'.
 * - It stays in the row's page while it fits (`storage main`): ranking reads it, and nothing else.
 * - An index without a list of pending entries: a read never has to search one.
 * - `embedding` has the type `vector` where pgvector is (see ../vectors.ts); otherwise float4 bytes, little endian.
 */

export const name = '0004-memories';

export const sql = `
create sequence memory_marks;
create table memories (
  id bigint generated always as identity primary key,
  tenant text collate "C" not null,
  subject text collate "C" not null,
  kind text collate "C" not null,
  key text collate "C" not null,
  value text not null,
  words text not null,
  source text not null,
  at_ms double precision not null,
  workflow text collate "C" not null,
  position bigint not null,
  ordinal bigint not null,
  lamport bigint not null,
  is_forgotten boolean not null,
  -- Names the words: another one for every change of them.
  mark bigint not null,
  words_vector tsvector not null generated always as (
    case when words = '' then ''::tsvector else
      setweight(to_tsvector('english', left(split_part(words, chr(10), 1), 20000)), 'A') ||
      to_tsvector('english', left(substr(words, strpos(words || chr(10), chr(10)) + 1), 100000)) ||
      array_to_tsvector(array['#' || md5(tenant || chr(10) || subject)])
    end
  ) stored
);
alter table memories alter column words_vector set storage main;
create unique index memories_key on memories
  (tenant, hashtextextended(subject, 0), hashtextextended(subject, 1), kind, hashtextextended(key, 0), hashtextextended(key, 1));
create index memories_mark on memories (mark) where words <> '';
create index memories_words on memories using gin (words_vector) with (fastupdate = off);

create table memory_embeddings (
  id bigint not null,
  model text collate "C" not null,
  -- Of the words that were embedded.
  mark bigint not null,
  tenant text collate "C" not null,
  subject text collate "C" not null,
  kind text collate "C" not null,
  dimension integer not null,
  embedding bytea not null,
  primary key (id, model)
) with (toast_tuple_target = 8160);
create index memory_embeddings_subject on memory_embeddings
  (tenant, hashtextextended(subject, 0), hashtextextended(subject, 1), model);
`;
