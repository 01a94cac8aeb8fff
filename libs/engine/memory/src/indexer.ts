/**
 * Owns filling in the embeddings of entries that have none: batch by batch, oldest first, so that a stop at any moment loses one
 * batch at most and the next run goes on. It may run in several processes at once: they repeat work, and nothing else.
 */

import { UnavailableError } from '@tidemark/core';
import type { MemoryStore, UnembeddedMemory } from '@tidemark/ports';
import type { Embedder } from './embedder.ts';
import { INDEX_BATCH, INDEX_SWEEP_RUNS } from './limits.ts';

export interface IndexerOptions {
  readonly store: Pick<MemoryStore, 'unembedded' | 'putEmbeddings'>;
  readonly embedder: Embedder;
  /** Texts that are embedded at once; default 32. */
  readonly batchSize?: number;
}

export interface IndexReport {
  readonly embeddedCount: number;
  /** Entries whose text the embedder refused, while it took others; tried again in a later sweep. */
  readonly refusedCount: number;
}

export interface Indexer {
  /**
   * Embeds all that has no embedding now, then answers. To be called in a loop, with pauses: while nothing is new it costs one
   * read of an index. Rejects with the signal's reason when it is aborted, with `UnavailableError` (`embedding-failed`)
   * when the embedder takes no text at all; what was embedded until then is kept.
   */
  run(signal?: AbortSignal): Promise<IndexReport>;
}

export function memoryIndexer({ store, embedder, batchSize = INDEX_BATCH }: IndexerOptions): Indexer {
  let mark = 0;
  let runs = 0;
  return {
    async run(signal) {
      // A change may be committed after one with a greater mark: now and then everything is looked through.
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

/** Undefined for those that the embedder refuses. */
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
    // None: it isn't the texts.
    if (vectors.every((vector) => vector === undefined)) throw failed(embedder, error);
    return vectors;
  }
}

const failed = (embedder: Embedder, cause: unknown): UnavailableError =>
  new UnavailableError('embedding-failed', `The embedder ${embedder.model} failed: ${String(cause)}`, {
    model: embedder.model,
    cause,
  });
