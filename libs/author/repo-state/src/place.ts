/**
 * Owns where a state may be, in the order in which places are tried: `.workflow-state/` in a repository or another folder;
 * `/tmp/workflow-state/`, which other programs know too; and a folder of the system's temporary one that is Tidemark's alone. A name never
 * leads out of a folder, and links are not followed.
 */

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ConfigError, InvalidError } from '@tidemark/core';
import { linkError, type StateFiles } from './files.ts';
import { NAME_MAX_CHARS } from './limits.ts';

export const STATE_FOLDER = '.workflow-state';
const SHARED_FOLDER = 'workflow-state';
/** Where other programs look, whatever `TMPDIR` says. */
const SHARED_ROOT = process.platform === 'win32' ? os.tmpdir() : '/tmp';

export interface Place {
  readonly kind: 'own' | 'shared' | 'private';
  readonly root: string;
  readonly name: string;
  /** `.workflow-state` itself. */
  readonly folder: string;
  readonly file: string;
  readonly archive: string;
  readonly lock: string;
  /** Checkpoints that the file doesn't have yet. */
  readonly waiting: string;
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

/** `folder`: undefined outside of repositories. `temporaryFolder`: instead of the system's. */
export function placesOf(
  folder: string | undefined,
  name: string,
  temporaryFolder?: string | undefined,
): readonly [Place, ...Place[]] {
  const shared = placeIn('shared', temporaryFolder ?? SHARED_ROOT, name);
  const own = folder === undefined ? shared : placeIn('own', path.resolve(folder), name);
  // The same for the same folder and user, so that the next process finds what the last one wrote.
  const digest = createHash('sha256').update(path.resolve(own.root)).digest('hex').slice(0, 16);
  const ours = path.join(temporaryFolder ?? os.tmpdir(), `tidemark-state-${process.getuid?.() ?? 'user'}`, digest);
  return [own, ...(own === shared ? [] : [shared]), placeIn('private', ours, name)];
}

function placeIn(kind: Place['kind'], root: string, name: string): Place {
  const folder = path.join(root, kind === 'shared' ? SHARED_FOLDER : STATE_FOLDER);
  const stem = path.join(folder, `${name}-state`);
  return {
    kind,
    root,
    name,
    folder,
    file: `${stem}.json`,
    archive: path.join(folder, 'archive'),
    lock: `${stem}.lock`,
    waiting: `${stem}.waiting.json`,
  };
}

/** Its name in messages: relative to its root where it is the user's own place, else the whole path. */
export const shown = (place: Place, file: string): string =>
  place.kind === 'own' ? path.relative(place.root, file) || '.' : file;

/** Throws `InvalidError` (`state-link`) when the folder, its archive or one of its files is a link. */
export async function refuseLinks(files: StateFiles, place: Place): Promise<void> {
  for (const file of [place.folder, place.archive, place.file, place.lock, place.waiting]) {
    if ((await files.stat(file)).kind === 'link') throw linkError(shown(place, file));
  }
}

/** Creates the folder. In the system's temporary folder, where others may write, it must be the user's own. */
export async function makeReady(files: StateFiles, place: Place): Promise<void> {
  if (place.kind === 'own') {
    if ((await files.stat(place.root)).kind === 'absent') {
      throw new ConfigError('place-missing', `There is no folder ${place.root}.`, { folder: place.root });
    }
  } else {
    await refuseUnsafe(files, place);
    await files.makeFolder(ownedFolder(place), true);
    await refuseUnsafe(files, place);
  }
  await refuseLinks(files, place);
  await files.makeFolder(place.folder, place.kind !== 'own');
}

/** In the system's temporary folder. */
const ownedFolder = (place: Place): string => (place.kind === 'shared' ? place.folder : path.dirname(place.root));

async function refuseUnsafe(files: StateFiles, place: Place): Promise<void> {
  const why = await whyUnsafe(files, place);
  if (why === undefined) return;
  const folder = ownedFolder(place);
  throw new ConfigError('place-foreign', `${folder} isn't used (${why})`, { folder });
}

/** Why a place isn't used for states: somebody else may have made it, or may write to it. Undefined: it is safe, or absent. */
export async function whyUnsafe(files: StateFiles, place: Place): Promise<string | undefined> {
  if (place.kind === 'own') return undefined;
  const { kind, owner, mode } = await files.stat(ownedFolder(place));
  if (kind === 'absent') return undefined;
  if (kind !== 'folder') return 'it is not a folder';
  if (process.getuid === undefined) return undefined;
  if (owner !== process.getuid()) return 'it belongs to somebody else';
  return (mode & 0o022) === 0 ? undefined : 'others may write to it';
}
