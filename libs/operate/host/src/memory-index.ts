/** Owns a process's embedder: which one the settings name, and the loop that adds missing embeddings. Without one, recall uses words alone, and says so. */

import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ConfigError } from '@tidemark/core';
import { type Embedder, installedModel, localEmbedder, memoryIndexer } from '@tidemark/memory';
import type { Ports } from '@tidemark/runtime';
import { trackingRepository } from './git-index.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Pause between two polls for entries without an embedding, in milliseconds; longer after a failure. */
const INDEX_PERIOD_MS = 1_000;
const INDEX_FAILED_PERIOD_MS = 30_000;

/** Embedder of the sentence model in the folder; null where none is named. The model is loaded when it is first needed. Throws `ConfigError` (`embedding-foreign`). */
export function embedderIn(folder: string | undefined): Embedder | null {
  if (folder === undefined || folder === '') return null;
  const installed = path.dirname(path.resolve(folder));
  const repository = existsSync(installed) ? trackingRepository(installed, ['node_modules']) : undefined;
  if (repository === undefined) return localEmbedder({ folder });
  const message = `The code beside the model in ${folder} came with the git repository ${repository}. Install the model elsewhere: tidemark admin install-embedder`;
  throw new ConfigError('embedding-foreign', message, { folder, repository });
}

/**
 * Where `tidemark admin install-embedder` puts a model, with the code that runs it: in the user's own folder of data, and never in a state
 * folder, which may be a stranger's.
 */
export function ownEmbedderFolder({ XDG_DATA_HOME: data, HOME: home }: Env): string {
  // A relative one would lead into whatever folder the command is given in.
  const own = data !== undefined && path.isAbsolute(data) ? data : path.join(home || os.homedir(), '.local/share');
  return path.join(own, 'tidemark', 'embedder');
}

/** Embedder of the model that the user installed; null: there is none. */
export function installedEmbedder(env: Env): Embedder | null {
  const model = installedModel(ownEmbedderFolder(env));
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
