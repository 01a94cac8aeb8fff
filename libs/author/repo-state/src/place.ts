/**
 * Owns where a state is: `.workflow-state/` in a repository or another folder, and the temporary place for one that can't be written. A
 * name never leads out of the folder, and links are not followed.
 */

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, InvalidError } from '@tidemark/core';
import { linkError, type StateFiles } from './files.ts';
import { NAME_MAX_CHARS } from './limits.ts';

export const STATE_FOLDER = '.workflow-state';
/** In the system's temporary folder, for users without a repository. */
const OUTSIDE_FOLDER = 'workflow-state';

export interface Place {
  /** `outside`: of no repository, in the system's temporary folder; `temporary`: for a place that can't be written. */
  readonly kind: 'own' | 'outside' | 'temporary';
  readonly root: string;
  readonly name: string;
  /** `.workflow-state` itself. */
  readonly folder: string;
  readonly file: string;
  readonly archive: string;
  readonly lock: string;
}

/** The repository of the folder: the nearest folder upwards with a `.git`. */
export function findRepository(from: string): string | undefined {
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, '.git'))) return folder;
    if (path.dirname(folder) === folder) return undefined;
  }
}

/** Letters, digits, `.`, `-` and `_`; begins with a letter or digit. Throws `InvalidError` (`state-name-invalid`). */
export function checkName(name: string): void {
  if (name.length <= NAME_MAX_CHARS && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) && !name.includes('..')) return;
  throw new InvalidError(
    'state-name-invalid',
    `A state's name has letters, digits, '.', '-' and '_', begins with a letter or digit, and has at most ${NAME_MAX_CHARS} characters.`,
  );
}

export function placeIn(kind: Place['kind'], root: string, name: string): Place {
  const folder = path.join(root, kind === 'outside' ? OUTSIDE_FOLDER : STATE_FOLDER);
  const stem = path.join(folder, `${name}-state`);
  return {
    kind,
    root,
    name,
    folder,
    file: `${stem}.json`,
    archive: path.join(folder, 'archive'),
    lock: `${stem}.lock`,
  };
}

/** The same for the same folder and user, so that the next process finds what the last one wrote. */
export function temporaryPlace(temporaryFolder: string, root: string, name: string): Place {
  const digest = createHash('sha256').update(path.resolve(root)).digest('hex').slice(0, 16);
  return placeIn(
    'temporary',
    path.join(temporaryFolder, `tidemark-state-${process.getuid?.() ?? 'user'}`, digest),
    name,
  );
}

/** Its name in messages: relative to its root where it is the user's own place, else the whole path. */
export const shown = (place: Place, file: string): string =>
  place.kind === 'own' ? path.relative(place.root, file) || '.' : file;

/** Throws `InvalidError` (`state-link`) when the folder, its archive or the file is a link. */
export async function refuseLinks(files: StateFiles, place: Place): Promise<void> {
  for (const file of [place.folder, place.archive, place.file, place.lock]) {
    if ((await files.stat(file)).kind === 'link') throw linkError(shown(place, file));
  }
}

/** Creates the folder. In the temporary place, beside which others may write, it must be the user's own. */
export async function makeReady(files: StateFiles, place: Place): Promise<void> {
  if (place.kind === 'own') {
    if ((await files.stat(place.root)).kind === 'absent') {
      throw new ConfigError('place-missing', `There is no folder ${place.root}.`, { folder: place.root });
    }
  } else {
    const owned = place.kind === 'outside' ? place.folder : path.dirname(place.root);
    await files.makeFolder(owned, true);
    await refuseOthers(files, owned);
  }
  await refuseLinks(files, place);
  await files.makeFolder(place.folder, place.kind !== 'own');
}

export async function isOurs(files: StateFiles, folder: string): Promise<boolean> {
  const { kind, owner } = await files.stat(folder);
  return kind === 'folder' && (process.getuid === undefined || owner === process.getuid());
}

/** Throws `ConfigError` (`place-foreign`) for a folder of somebody else where anybody may create one. */
export async function refuseOthers(files: StateFiles, folder: string, mayBeAbsent = false): Promise<void> {
  if (await isOurs(files, folder)) return;
  if (mayBeAbsent && (await files.stat(folder)).kind === 'absent') return;
  throw new ConfigError('place-foreign', `${folder} belongs to somebody else, so no state is kept there.`);
}
