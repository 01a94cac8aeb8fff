/**
 * Owns memory's operations: which statements run, and how the ranking by words and the one by meaning become one answer. Every read names
 * the tenant (I9).
 */

import { InvalidError } from '@tidemark/core';
import {
  fuseRankings,
  type MemoryEmbedding,
  type MemoryName,
  type MemoryQuery,
  type MemoryRow,
  type Ranked,
  type RecalledMemory,
  type RecallQuery,
  type UnembeddedMemory,
  type WrittenQuery,
} from '@tidemark/ports';
import { storable } from './binary-array.ts';
import * as embeddings from './sql/embeddings.ts';
import { memoryNameOf, memoryOf, readMemories, readMemoriesById, readMemoriesWrittenBy } from './sql/read-memories.ts';
import { WORDS_AT, wordSearch } from './sql/recall-words.ts';
import { numberAt, type Row, type Rows, textAt } from './sql-client.ts';
import { SqlTiers } from './sql-tiers.ts';
import { VectorSearch } from './vector-search.ts';

/** Results of each ranking, by words and by meaning, that are merged. */
const RANKING_DEPTH = 64;
/** Numbers in an embedding. */
const VECTOR_DIMENSION_MAX = 16_000;

/** An entry that one of the rankings found, with the columns that settle ties. */
interface Hit {
  readonly id: number;
  readonly lamport: number;
  readonly name: string;
}

export abstract class SqlMemories extends SqlTiers {
  readonly #search = new VectorSearch();

  memories(request: MemoryQuery): Promise<readonly MemoryRow[]> {
    return this.readAll(readMemories(sayable(request)), (row) => memoryOf(row));
  }

  memoriesWrittenBy(query: WrittenQuery): Promise<readonly MemoryName[]> {
    return this.readAll(readMemoriesWrittenBy(query), memoryNameOf);
  }

  async recall(request: RecallQuery): Promise<readonly RecalledMemory[]> {
    const query = sayable(request);
    const [words, meaning] = await Promise.all([this.#byWords(query), this.#byMeaning(query)]);
    const best = fuseRankings(
      words,
      meaning,
      ({ id }) => id,
      (a, b) => b.lamport - a.lamport || (a.name < b.name ? -1 : 1),
    ).slice(0, query.limit);
    const ids = best.map(({ item }) => item.id);
    const rows = await this.read(readMemoriesById(query.tenant, query.subject, ids));
    const entries = new Map(rows.map((row) => [numberAt(row, 0), memoryOf(row, 1)]));
    return best.flatMap(({ item, score, wordsScore, similarity }) => {
      const memory = entries.get(item.id);
      return memory === undefined ? [] : [{ memory, score, wordsScore, similarity }];
    });
  }

  unembedded(model: string, limit: number, after = 0): Promise<readonly UnembeddedMemory[]> {
    return this.readAll(embeddings.readUnembedded(model, limit, after), (row) => ({
      id: numberAt(row, 0),
      mark: numberAt(row, 1),
      words: textAt(row, 2),
    }));
  }

  async putEmbeddings(rows: readonly MemoryEmbedding[]): Promise<void> {
    // Keeps the last write for each key: Postgres refuses a statement with two.
    const distinct = new Map(rows.map((row) => [JSON.stringify([row.id, row.model]), row]));
    const units = [...distinct.values()].map((row) => ({ ...row, vector: unitVector(row.vector) }));
    if (units.length === 0) return;
    const sorted = units.sort((a, b) => a.id - b.id);
    await this.client.run([embeddings.putEmbeddings(sorted)]);
  }

  async #byWords(query: RecallQuery): Promise<readonly Ranked<Hit>[]> {
    if (query.words.trim() === '') return [];
    const results = await this.client.run(wordSearch(query, RANKING_DEPTH));
    return rankedOf(results[WORDS_AT] ?? []);
  }

  async #byMeaning(query: RecallQuery): Promise<readonly Ranked<Hit>[] | null> {
    const { embedding, model } = query;
    if (embedding === null || model === null) return null;
    const near = await this.#search.nearest(this.client, query, model, unitVector(embedding), RANKING_DEPTH);
    const ids = near.map(({ id }) => id);
    const marks = near.map(({ mark }) => mark);
    const rows = await this.read(embeddings.readHits(query, ids, marks));
    const hits = new Map(rows.map((row) => [numberAt(row, 0), hitOf(row, 1)]));
    return near.flatMap(({ id, similarity }) => {
      const item = hits.get(id);
      return item === undefined ? [] : [{ item, score: similarity }];
    });
  }
}

/** Replaces characters in names and words that Postgres can't store. */
const sayable = <Q extends object>(query: Q): Q =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, typeof value === 'string' ? storable(value) : value]),
  ) as Q;

const hitOf = (row: Row, at: number): Hit => ({
  id: numberAt(row, 0),
  lamport: numberAt(row, at),
  name: `${textAt(row, at + 1)} ${textAt(row, at + 2)}`,
});

const rankedOf = (rows: Rows): readonly Ranked<Hit>[] =>
  rows.map((row) => ({ item: hitOf(row, 2), score: numberAt(row, 1) }));

/**
 * Scaled to length 1, as vectors are stored and compared. Throws `InvalidError` (`embedding-invalid`): empty, too long, or with numbers that
 * aren't finite. All zeros stay zeros.
 */
function unitVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (vector.length === 0 || vector.length > VECTOR_DIMENSION_MAX || !Number.isFinite(squares)) {
    const message = `An embedding has 1 to ${VECTOR_DIMENSION_MAX} finite numbers, this one ${vector.length}`;
    throw new InvalidError('embedding-invalid', message, { dimension: vector.length });
  }
  const norm = Math.sqrt(squares);
  return norm === 0 ? vector : vector.map((value) => value / norm);
}
