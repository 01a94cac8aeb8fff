/**
 * Owns computing missing embeddings: batch by batch, oldest first, so that a stop at any moment loses at most one batch and the next run
 * resumes. Several processes may run it at once: they only repeat work.
 */

import { UnavailableError } from '@tidemark/core';
import type { MemoryStore, UnembeddedMemory } from '@tidemark/ports';
import type { Embedder } from './embedder.ts';

/** Texts that the indexer embeds at once. Overridden by `batchSize`. */
const INDEX_BATCH = 32;
/** One in this many runs of the indexer starts from the beginning, to find entries that were written out of order. */
const INDEX_SWEEP_RUNS = 100;

export interface IndexerOptions {
  readonly store: Pick<MemoryStore, 'unembedded' | 'putEmbeddings'>;
  readonly embedder: Embedder;
  /** Texts that are embedded at once; default 32. */
  readonly batchSize?: number;
}

export interface IndexReport {
  readonly embeddedCount: number;
  /** Entries whose text the embedder refused while it accepted others; a later sweep tries them again. */
  readonly refusedCount: number;
}

export interface Indexer {
  /**
   * Embeds every entry without an embedding, then resolves. Call it in a loop, with pauses: when nothing is new it costs one read of an
   * index. Rejects with the signal's reason when it is aborted, and with `UnavailableError` (`embedding-failed`) when the embedder accepts
   * no text at all; finished embeddings are kept.
   */
  run(signal?: AbortSignal): Promise<IndexReport>;
}

export function memoryIndexer({ store, embedder, batchSize = INDEX_BATCH }: IndexerOptions): Indexer {
  let mark = 0;
  let runs = 0;
  return {
    async run(signal) {
      // A change may be committed after one with a greater mark, so some runs start from the beginning.
      if (runs % INDEX_SWEEP_RUNS === 0) mark = 0;
      runs += 1;
      let embeddedCount = 0;
      let refusedCount = 0;
      for (;;) {
        signal?.throwIfAborted();
        const rows = await store.unembedded(embedder.model, batchSize, mark);
        const vectors = await embedAll(embedder, rows, signal);
        const found = rows.flatMap(({ id, mark: of }, at) => {
          const vector = vectors[at];
          return vector === undefined ? [] : [{ id, mark: of, model: embedder.model, vector }];
        });
        await store.putEmbeddings(found);
        embeddedCount += found.length;
        refusedCount += rows.length - found.length;
        mark = rows.at(-1)?.mark ?? mark;
        if (rows.length < batchSize) return { embeddedCount, refusedCount };
      }
    },
  };
}

/** Undefined for texts that the embedder refuses. */
async function embedAll(
  embedder: Embedder,
  rows: readonly UnembeddedMemory[],
  signal: AbortSignal | undefined,
): Promise<readonly (Float32Array | undefined)[]> {
  if (rows.length === 0) return [];
  const texts = rows.map(({ words }) => words);
  try {
    return await embedder.embed(texts, signal);
  } catch (error) {
    signal?.throwIfAborted();
    if (texts.length === 1) throw failed(embedder, error);
    const one = (text: string): Promise<Float32Array | undefined> =>
      embedder.embed([text], signal).then(
        ([vector]) => vector,
        () => undefined,
      );
    const vectors: (Float32Array | undefined)[] = [];
    for (const text of texts) {
      vectors.push(await one(text));
      signal?.throwIfAborted();
    }
    // It refuses every text, so the texts are not the cause.
    if (vectors.every((vector) => vector === undefined)) throw failed(embedder, error);
    return vectors;
  }
}

const failed = (embedder: Embedder, cause: unknown): UnavailableError =>
  new UnavailableError('embedding-failed', `The embedder ${embedder.model} failed: ${String(cause)}`, {
    model: embedder.model,
    cause,
  });
