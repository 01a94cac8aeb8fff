/** Owns `tidemark admin install-embedder`. */

import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { ownEmbedderFolder } from '@tidemark/host';
import { EXIT } from '@tidemark/host/exit-codes';
import { installEmbedder } from '@tidemark/memory';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';

export async function installEmbedderHere({ terminal, cwd, env }: Session, given: string | undefined): Promise<number> {
  const folder = given === undefined ? ownEmbedderFolder(env) : path.resolve(cwd, given);
  const index = env.PIP_INDEX_URL === '' ? undefined : env.PIP_INDEX_URL;
  // A folder that is named may be for an image, whose processes run as another user.
  const mode = given === undefined ? 0o700 : undefined;
  if (mode !== undefined) await mkdir(path.dirname(folder), { recursive: true, mode });
  const onPart = (part: string): void => terminal.note(`Fetching ${part}.`);
  const model = await installEmbedder(folder, { index, mode, onPart });
  terminal.answer({ model });
  terminal.line(
    given === undefined
      ? `The model is in ${printable(folder)}: commands that hold a state folder recall by meaning from now on.`
      : `The model is there. For services and commands: TIDEMARK_EMBEDDER_FOLDER=${printable(model)}`,
  );
  return EXIT.ok;
}
