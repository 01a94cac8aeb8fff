/**
 * Owns a PGlite folder as a whole: who may use it, whether this version can, and whether its creation was finished.
 *
 * - `lock`: an empty SQLite file on which the user holds an exclusive lock. The operating system drops the lock with the process, however
 *   that ends. PGlite itself has no lock, and two writers would destroy the data.
 * - `format.json`: the versions that wrote `data`. It is read before anything is opened, so that a newer folder stays untouched to the
 *   byte.
 * - `data`: PGlite's own.
 */

import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError, CorruptError } from '@tidemark/core';

/** Raised when this library can no longer read what it wrote here before. */
const FORMAT = 1;
/** Major version of PGlite's Postgres; no other one reads its files. */
const POSTGRES_MAJOR = 18;

interface Format {
  readonly format: number;
  readonly postgres: number;
  /** False while `data` is being created; it then holds nothing yet. */
  readonly complete: boolean;
}

export interface PgliteFolder {
  /** PGlite's own folder. */
  readonly data: string;
  /** Call this once `data` has its tables. */
  completed(): void;
  /** Releases the lock. */
  release(): void;
}

/** Locks the folder. Throws `ConfigError` (`store-locked`, `store-newer`, `store-older`, `store-folder`), `CorruptError`. */
export function takeFolder(folder: string): PgliteFolder {
  const lock = takeLock(folder);
  try {
    const data = path.join(folder, 'data');
    const formatFile = path.join(folder, 'format.json');
    const found = readFormat(folder, formatFile, data);
    if (found?.complete === true) checkVersion(folder, data);
    const write = (complete: boolean): void =>
      writeFormat(formatFile, { format: FORMAT, postgres: POSTGRES_MAJOR, complete });
    if (found?.complete !== true) {
      // An interrupted creation left nothing of value.
      rmSync(data, { recursive: true, force: true });
      write(false);
    }
    return {
      data,
      completed() {
        if (found?.complete === true) return;
        keepToOwner(data);
        write(true);
      },
      release: () => void (lock.isOpen && lock.close()),
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

function takeLock(folder: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = path.join(folder, 'lock');
    closeSync(openSync(file, 'a', 0o600));
    lock = new DatabaseSync(file, { timeout: 0 });
    lock.exec('pragma journal_mode = memory; begin exclusive');
    return lock;
  } catch (error) {
    lock?.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) {
      throw new ConfigError('store-locked', `Another process uses ${folder}: end it, or use another folder`, {
        folder,
      });
    }
    throw new ConfigError('store-folder', `The folder ${folder} can't be used: ${String(error)}`, {
      folder,
      cause: error,
    });
  }
}

function readFormat(folder: string, file: string, data: string): Format | undefined {
  if (!existsSync(file)) {
    if (!existsSync(data)) return undefined;
    throw damaged(folder, 'format.json is missing');
  }
  let found: Format;
  try {
    found = JSON.parse(readFileSync(file, 'utf8')) as Format;
    if (typeof found.format !== 'number' || typeof found.postgres !== 'number') throw new TypeError('not a format');
  } catch (error) {
    throw damaged(folder, `format.json can't be read: ${String(error)}`);
  }
  if (found.format > FORMAT || found.postgres > POSTGRES_MAJOR) {
    throw new ConfigError(
      'store-newer',
      `${folder} was made by a newer version of Tidemark; nothing was touched. Use that version, or another folder`,
      { folder, found },
    );
  }
  if (found.postgres < POSTGRES_MAJOR) {
    throw new ConfigError(
      'store-older',
      `${folder} was made by an older version of Tidemark. It is derived from the log: delete it, and it is rebuilt`,
      { folder, found },
    );
  }
  return found;
}

/** PGlite would take a folder without this file for an empty one, and overwrite it. */
function checkVersion(folder: string, data: string): void {
  let version: number;
  try {
    version = Number(readFileSync(path.join(data, 'PG_VERSION'), 'utf8'));
  } catch (error) {
    throw damaged(folder, `data/PG_VERSION can't be read: ${String(error)}`);
  }
  if (version !== POSTGRES_MAJOR) throw damaged(folder, `data/PG_VERSION says ${version}, not ${POSTGRES_MAJOR}`);
}

const damaged = (folder: string, problem: string): CorruptError =>
  new CorruptError(
    'store-damaged',
    `${folder} is damaged: ${problem}. It is derived from the log: delete it, and it is rebuilt`,
    { folder },
  );

/** PGlite unpacks a template for everybody to read and write. Where modes are not kept, the folder above decides. */
function keepToOwner(data: string): void {
  chmodSync(data, 0o700);
  for (const entry of readdirSync(data, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) {
      chmodSync(path.join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600);
    }
  }
}

/** Writes the whole file or nothing, and follows no link. */
function writeFormat(file: string, format: Format): void {
  rmSync(`${file}.new`, { force: true });
  writeFileSync(`${file}.new`, `${JSON.stringify(format)}\n`, { flag: 'wx', mode: 0o600 });
  renameSync(`${file}.new`, file);
}
