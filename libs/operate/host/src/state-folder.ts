/**
 * Owns whether a state folder may be used. What lies in one is believed, and its rows are a database with functions of its own, so it must
 * be made by this user: not by another one, not where others may write, and not by a repository that somebody cloned. A folder that is
 * missing, or that holds no state, is nobody's. Must not run anything to find out: `git` itself runs programs that a repository's settings
 * name.
 */

import {
  type Dirent,
  lstatSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  type Stats,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { ConfigError } from '@tidemark/core';
import { isForeign, isOpenToOthers } from '@tidemark/ports';
import { trackingRepository } from './git-index.ts';

/** Most files and folders below `log` and below `rows` whose owner and mode are read; the rows have about 1,200, and one more for each GB. */
const STATE_FILES_MAX_COUNT = 50_000;

/** What Tidemark puts into a state folder. */
const NAMES = ['log', 'rows', 'archive', 'blobs', 'api.sock'] as const;
/** Folders whose whole content is checked, since locks and databases are opened by their names. */
const OPENED_BY_NAME: ReadonlySet<string> = new Set(['log', 'rows']);

/**
 * Throws `ConfigError`: `state-foreign` (another user's), `state-exposed` (others may write there), `state-tracked` (a repository brought
 * it). `shown`: its name for people.
 */
export function refuseForeignState(folder: string, shown = folder): void {
  if (!isFolder(folder)) return;
  refuseOthers(folder, shown);
  const repository = trackingRepository(folder, NAMES);
  if (repository === undefined) return;
  throw new ConfigError(
    'state-tracked',
    `${shown} came with the git repository ${repository}, which tracks it or whose index is missing or can't be read, so its author could run code here. Nothing was opened. Name another folder (--state); or, where you yourself committed it: git rm -r --cached ${shown}, then git update-index --no-split-index, and list it in .gitignore. A missing index: git reset.`,
    { folder, repository },
  );
}

function refuseOthers(folder: string, shown: string): void {
  const own = process.geteuid?.();
  const odd = placesIn(folder, shown).filter((place) => isForeign(place, own) || isOpenToOthers(place, own));
  if (odd.length === 0) return;
  // Some file systems keep neither owners nor modes: what this process makes there itself then looks as odd.
  const made = statsOfNew(folder);
  const found = odd.find(({ uid, mode }) => made?.uid !== uid || (isOpenToOthers({ mode }, own) && made.mode !== mode));
  if (found === undefined) return;
  const at = path.join(shown, path.relative(folder, found.file));
  if (isForeign(found, own)) {
    const message = `${at} belongs to user ${found.uid}, not to the one who runs this (${own}), who could run code here by it. Nothing was opened. Name another folder (--state), run it as that user, or, where you trust what is in it: chown -R ${own} ${shown}.`;
    throw new ConfigError('state-foreign', message, { folder, owner: found.uid });
  }
  const mode = (found.mode & 0o777).toString(8);
  const message = `${at} has mode ${mode}: others could write what is believed and run here. Nothing was opened. Name another folder (--state), or, where you trust what is in it: chmod -R go-w ${shown}.`;
  throw new ConfigError('state-exposed', message, { folder, mode });
}

interface OwnedFile {
  readonly file: string;
  readonly uid: number;
  /** 0 for a link, and for files below a folder that only its owner may enter. */
  readonly mode: number;
}

function placesIn(folder: string, shown: string): readonly OwnedFile[] {
  const within = NAMES.map((name) => path.join(folder, name));
  const files = NAMES.filter((name) => OPENED_BY_NAME.has(name)).flatMap((name) => {
    const below = namesBelow(path.join(folder, name));
    if (below.length > STATE_FILES_MAX_COUNT) {
      const message = `${path.join(shown, name)} has more than ${STATE_FILES_MAX_COUNT} files, more than are looked at to see whose they are. Nothing was opened. Name another folder (--state).`;
      throw new ConfigError('state-exposed', message, { folder });
    }
    return below.map((file) => path.join(folder, name, file));
  });
  // Below a folder that only its owner may enter, modes don't matter: PGlite's new files have its own modes for a moment.
  const shut = new Set<string>();
  return [folder, ...within, ...files].flatMap((file) => {
    const stats = statsOf(() => lstatSync(file));
    if (stats === undefined) return [];
    const isShut = shut.has(path.dirname(file));
    if (stats.isDirectory() && (isShut || (stats.mode & 0o077) === 0)) shut.add(file);
    if (!stats.isSymbolicLink()) return [{ file, uid: stats.uid, mode: isShut ? 0 : stats.mode & 0o777 }];
    // A link and its target may have different owners.
    const target = statsOf(() => statSync(file));
    const link = { file, uid: stats.uid, mode: 0 };
    return target === undefined ? [link] : [link, { file, uid: target.uid, mode: target.mode & 0o777 }];
  });
}

/** Stops at one name more than the limit. */
function namesBelow(folder: string): readonly string[] {
  const found: string[] = [];
  for (const waiting = ['']; waiting.length > 0 && found.length <= STATE_FILES_MAX_COUNT; ) {
    const at = waiting.pop()!;
    for (const entry of entriesOf(path.join(folder, at))) {
      const name = path.join(at, entry.name);
      found.push(name);
      if (entry.isDirectory()) waiting.push(name);
    }
  }
  return found;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Missing, no folder, or another user's, whose owner is judged by itself.
    return [];
  }
}

/** Undefined if the file is missing, or was removed meanwhile. */
function statsOf(read: () => Stats): Stats | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const isFolder = (folder: string): boolean => statsOf(() => statSync(folder))?.isDirectory() === true;

/** Of a folder that this process makes for itself alone; undefined: it can't make one there. */
function statsOfNew(folder: string): Pick<Stats, 'uid' | 'mode'> | undefined {
  try {
    const made = mkdtempSync(path.join(realpathSync(folder), '.owner-'));
    try {
      const { uid, mode } = lstatSync(made);
      return { uid, mode: mode & 0o777 };
    } finally {
      rmdirSync(made);
    }
  } catch {
    return undefined;
  }
}
