/** Owns listing the states of a folder. Must read none of them. */

import os from 'node:os';
import path from 'node:path';
import { linkError, nodeFiles } from './files.ts';
import { placeIn } from './place.ts';

/** Names, sorted; empty where there is no folder of states. `folder`: as for `openRepoState`. Throws `InvalidError` (`state-link`). */
export async function listStates(folder: string | undefined): Promise<readonly string[]> {
  const { folder: states } =
    folder === undefined ? placeIn('outside', os.tmpdir(), '') : placeIn('own', path.resolve(folder), '');
  if ((await nodeFiles.stat(states)).kind === 'link') throw linkError(states);
  const names = await nodeFiles.list(states);
  return names.flatMap((file) => /^([A-Za-z0-9][A-Za-z0-9._-]*)-state\.json$/.exec(file)?.[1] ?? []);
}
