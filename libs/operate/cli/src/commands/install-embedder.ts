/** Owns `tidemark admin install-embedder`. */

import path from 'node:path';
import { embedderFolderIn } from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import { installEmbedder } from '@tidemark/memory';
import type { AdminOptions } from '../place/admin-place.ts';
import { DEFAULT_FOLDER } from '../place/folder.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';

export async function installEmbedderHere(
  { terminal, cwd, env }: Session,
  given: string | undefined,
  { state = DEFAULT_FOLDER }: AdminOptions,
): Promise<number> {
  const folder = path.resolve(cwd, given ?? embedderFolderIn(state));
  const index = env.PIP_INDEX_URL === '' ? undefined : env.PIP_INDEX_URL;
  const model = await installEmbedder(folder, { index, onPart: (part) => terminal.note(`Fetching ${part}.`) });
  terminal.answer({ model });
  terminal.line(
    given === undefined
      ? `The model is in ${printable(folder)}: commands that hold ${printable(state)} recall by meaning from now on.`
      : `The model is there. For services and commands: TIDEMARK_EMBEDDER_FOLDER=${printable(model)}`,
  );
  return EXIT.ok;
}
