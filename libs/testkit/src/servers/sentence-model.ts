/** Owns how tests and benchmarks get a real sentence model: installed as users install it, once, into `.cache`. */
import path from 'node:path';
import { installEmbedder, installedModel } from '@tidemark/memory';
import { cached } from './cache-folder.ts';

/** The folder for `localEmbedder`; the first call fetches 104 MB and installs 480 MB beside the model. */
export async function sentenceModel(): Promise<{ readonly folder: string }> {
  const folder = await cached('embedder', async (building) => {
    await installEmbedder(path.join(building, 'installed'));
  });
  return { folder: installedModel(path.join(folder, 'installed')) };
}
