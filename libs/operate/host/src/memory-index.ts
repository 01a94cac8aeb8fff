/** Owns a process's embedder: which one the settings name, and the loop that adds missing embeddings. Without one, recall uses words alone, and says so. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Embedder, installedModel, localEmbedder, memoryIndexer } from '@tidemark/memory';
import type { Ports } from '@tidemark/runtime';

/** Pause between two polls for entries without an embedding, in milliseconds; longer after a failure. */
const INDEX_PERIOD_MS = 1_000;
const INDEX_FAILED_PERIOD_MS = 30_000;

/** Embedder of the sentence model in the folder; null where none is named. The model is loaded when it is first needed. */
export const embedderIn = (folder: string | undefined): Embedder | null =>
  folder === undefined || folder === '' ? null : localEmbedder({ folder });

/** Where `tidemark admin install-embedder` puts a model for processes with the state folder. */
export const embedderFolderIn = (stateFolder: string): string => path.join(stateFolder, 'embedder');

/** Embedder of the model that is installed in the state folder; null: there is none. */
export function installedEmbedder(stateFolder: string): Embedder | null {
  const model = installedModel(embedderFolderIn(stateFolder));
  return existsSync(model) ? embedderIn(model) : null;
}

/** Runs until it is ended; harmless in several processes at once. */
export function startMemoryIndex(
  { store, clock }: Pick<Ports, 'store' | 'clock'>,
  embedder: Embedder,
  onError: (where: string, error: unknown) => void = () => {},
): { end(): Promise<void> } {
  const ending = new AbortController();
  const indexer = memoryIndexer({ store, embedder });
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      let pauseMs = INDEX_PERIOD_MS;
      try {
        await indexer.run(ending.signal);
      } catch (error) {
        if (ending.signal.aborted) return;
        onError('memory index', error);
        pauseMs = INDEX_FAILED_PERIOD_MS;
      }
      await clock.sleep(pauseMs, ending.signal);
    }
  };
  const ended = run();
  return {
    end: async () => {
      ending.abort();
      await ended;
    },
  };
}
