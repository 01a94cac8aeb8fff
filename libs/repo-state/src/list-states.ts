/** Owns which states a folder has. Must read none of them. */

import path from 'node:path';
import { linkError, nodeFiles } from './files.ts';
import { STATE_FOLDER } from './place.ts';

/** Names, sorted; none where there is no folder of states. Throws `InvalidError` (`state-link`). */
export async function listStates(folder: string): Promise<readonly string[]> {
  const states = path.join(path.resolve(folder), STATE_FOLDER);
  if ((await nodeFiles.stat(states)).kind === 'link') throw linkError(states);
  const names = await nodeFiles.list(states);
  return names.flatMap((file) => /^([A-Za-z0-9][A-Za-z0-9._-]*)-state\.json$/.exec(file)?.[1] ?? []);
}
