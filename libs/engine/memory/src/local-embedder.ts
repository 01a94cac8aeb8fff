/**
 * Owns embeddings by a small sentence model on this machine, read from a folder with `@huggingface/transformers`: an optional package,
 * loaded at the first text, from beside the model only where nobody else can have put it there. Nothing is downloaded.
 */

import { lstatSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '@tidemark/core';
import { isForeign, isOpenToOthers } from '@tidemark/ports';
import type { Embedder } from './embedder.ts';
import { EMBEDDED_MAX_CHARS } from './limits.ts';
import { type ModelFolder, readModelFolder } from './model-folder.ts';

/** Texts that the local model takes at once; an abort takes effect between batches. */
const LOCAL_BATCH = 8;

export interface LocalEmbedderOptions {
  readonly folder: string;
  /** Names the vector space; default: the folder's name and the precision of its weights. */
  readonly model?: string;
  /** Threads for one call; default: one per core. */
  readonly threads?: number;
}

export interface LocalEmbedder extends Embedder {
  readonly dimension: number;
  /** Releases the model's memory (about 300 MB for MiniLM); the next text loads it again. */
  close(): Promise<void>;
}

/** The part of the package that is used here. */
interface Extractor {
  (
    texts: readonly string[],
    options: { readonly pooling: 'mean' | 'cls'; readonly normalize: boolean },
  ): Promise<{ readonly dims: readonly number[]; readonly data: Float32Array }>;
  dispose(): Promise<unknown>;
}

/** Throws `ConfigError`: `embedding-model` at once when the folder holds no model, `embedding-package` and `embedding-foreign` at the first text. */
export function localEmbedder(options: LocalEmbedderOptions): LocalEmbedder {
  const found = readModelFolder(options.folder);
  let loading: Promise<Extractor> | undefined;
  const load = (): Promise<Extractor> => {
    loading ??= loadExtractor(found, options).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    model: options.model ?? `local/${path.basename(found.folder)}-${found.precision}`,
    dimension: found.dimension,
    async embed(texts, signal) {
      const extractor = await load();
      const vectors: Float32Array[] = [];
      while (vectors.length < texts.length) {
        signal?.throwIfAborted();
        const batch = texts.slice(vectors.length, vectors.length + LOCAL_BATCH);
        vectors.push(...(await extract(extractor, batch, found)));
      }
      return vectors;
    },
    async close() {
      const extractor = await loading?.catch(() => undefined);
      loading = undefined;
      await extractor?.dispose();
    },
  };
}

async function extract(extractor: Extractor, texts: readonly string[], model: ModelFolder): Promise<Float32Array[]> {
  const cut = texts.map((text) => text.slice(0, EMBEDDED_MAX_CHARS));
  const { data } = await extractor(cut, { pooling: model.pooling, normalize: true });
  return texts.map((_, at) => Float32Array.from(data.subarray(at * model.dimension, (at + 1) * model.dimension)));
}

/** Typed as a string so that the type checker doesn't resolve it: the package need not be installed. */
const PACKAGE: string = '@huggingface/transformers';

/** The package that was installed beside the model; if there is none, this program's own. */
function importTransformers(model: string): Promise<unknown> {
  const installed = path.dirname(realpathSync(model));
  const packages = path.join(installed, 'node_modules');
  if (lstatSync(path.join(packages, PACKAGE), { throwIfNoEntry: false }) === undefined) return import(PACKAGE);
  refuseForeignCode(installed, packages);
  return import(pathToFileURL(createRequire(path.join(installed, 'package.json')).resolve(PACKAGE)).href);
}

/** What lies beside a model is code that this process runs. Throws `ConfigError` (`embedding-foreign`). */
function refuseForeignCode(installed: string, packages: string): void {
  const own = process.geteuid?.();
  const [outer, inner] = [lstatSync(installed), lstatSync(packages)];
  // A folder that others can't enter keeps them from what is in it.
  const isReached = (outer.mode & 0o011) !== 0;
  const isOdd = [outer, inner].some((stats) => isForeign(stats, own) || stats.isSymbolicLink());
  if (!isOdd && !isOpenToOthers(outer, own) && !(isReached && isOpenToOthers(inner, own))) return;
  throw new ConfigError(
    'embedding-foreign',
    `The code in ${packages} could be another user's: it must belong to you or root, be no link, and be writable by nobody else. Install the model with \`tidemark admin install-embedder\`, or, where you trust what is there: chmod -R go-w ${installed}`,
    { folder: installed },
  );
}

async function loadExtractor(
  { folder, precision }: ModelFolder,
  { threads }: LocalEmbedderOptions,
): Promise<Extractor> {
  let load: (task: string, folder: string, options: object) => Promise<unknown>;
  try {
    ({ pipeline: load } = (await importTransformers(folder)) as { pipeline: typeof load });
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const message =
      'The local embedder needs the package @huggingface/transformers: npm install --ignore-scripts @huggingface/transformers,' +
      ' or `tidemark admin install-embedder`, which brings a model as well';
    throw new ConfigError('embedding-package', message, { cause });
  }
  try {
    const session = threads === undefined ? {} : { session_options: { intraOpNumThreads: threads } };
    const options = { local_files_only: true, dtype: precision, device: 'cpu', ...session };
    return (await load('feature-extraction', folder, options)) as Extractor;
  } catch (cause) {
    const message = `The sentence model in ${folder} can't be loaded: ${String(cause)}`;
    throw new ConfigError('embedding-model', message, { folder, cause });
  }
}
