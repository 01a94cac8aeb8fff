/**
 * Owns opening and creating the file of wrapped keys, which lies beside the log's and is no part of it: several processes may have it open,
 * and no copy of the log holds it. A foreign, newer or damaged file stays as it is.
 */

import { closeSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError, messageOf, UnavailableError } from '@tidemark/core';
import type { KeyStore } from '@tidemark/ports';
import { defaultLimits } from './limits.ts';
import { createKeySchema } from './sql/keys.ts';
import { asKeysError, KEYS_FILE, keysDamaged, SqliteKeys } from './sqlite-keys.ts';

/** Longest wait for another process that has the file of keys, in milliseconds; its transactions take a few. */
const KEYS_BUSY_TIMEOUT_MS = 5_000;

export interface SqliteKeysOptions {
  /** The log's folder; created when missing. Holds `keys.sqlite` and SQLite's files beside it. */
  readonly folder: string;
  /** Longest wait for another process that has the file, in milliseconds. */
  readonly busyTimeoutMs?: number;
}

/** "tidk" in ASCII: marks the file as Tidemark's keys. */
const APPLICATION_ID = 0x7469646b;
/** Format of the tables. A greater one was written by a newer Tidemark. */
const FORMAT_VERSION = 1;

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
const APPLICATION_ID_AT = 68;

/** Throws `ConfigError`: `keys-foreign`, `keys-newer`, `keys-folder-unusable`; `CorruptError`: `keys-damaged`; `UnavailableError`: `keys-unavailable`. */
export async function openSqliteKeys(options: SqliteKeysOptions): Promise<KeyStore> {
  const folder = path.resolve(options.folder);
  const file = path.join(folder, KEYS_FILE);
  try {
    makeFile(folder, file);
    refuseForeign(file);
    const database = new DatabaseSync(file, { timeout: options.busyTimeoutMs ?? KEYS_BUSY_TIMEOUT_MS });
    try {
      prepare(database, folder, file);
      const keys = new SqliteKeys(folder, database);
      finishScrub(keys);
      return keys;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw asKeysError(folder, error);
  }
}

/** Creates the file readable by its owner alone; SQLite copies that to the files that it puts beside it. */
function makeFile(folder: string, file: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    closeSync(openSync(file, 'a', 0o600));
  } catch (error) {
    const why = messageOf(error);
    const message = `The keys in ${folder} can't be opened: ${why}.`;
    throw new ConfigError('keys-folder-unusable', message, { folder, cause: error });
  }
}

/** Runs before SQLite has touched the file. An empty file is one that nobody has filled yet. */
function refuseForeign(file: string): void {
  const { size } = statSync(file);
  if (size === 0) return;
  const header = Buffer.alloc(HEADER_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(descriptor);
  }
  const found = header.readUInt32BE(APPLICATION_ID_AT);
  // A file without a mark may be one that another process is creating.
  if (header.toString('latin1', 0, MAGIC.length) !== MAGIC || (found !== APPLICATION_ID && found !== 0))
    throw foreign(file);
}

const foreign = (file: string): ConfigError =>
  new ConfigError(
    'keys-foreign',
    `${file} is not a file of Tidemark's keys; name another folder. Nothing was changed.`,
    {
      file,
    },
  );

function prepare(database: DatabaseSync, folder: string, file: string): void {
  database.exec('pragma secure_delete = on; pragma temp_store = memory; pragma synchronous = full');
  // Only macOS needs this to reach the disk itself; elsewhere it has no effect.
  database.exec('pragma fullfsync = 1; pragma checkpoint_fullfsync = 1');
  if (numberOf(database, 'application_id') !== APPLICATION_ID) create(database, file);
  const found = numberOf(database, 'user_version');
  if (found > FORMAT_VERSION) {
    const message = `The keys in ${folder} have format ${found}; this version of Tidemark reads ${FORMAT_VERSION}. Nothing was changed.`;
    throw new ConfigError('keys-newer', message, { folder, found, known: FORMAT_VERSION });
  }
  database.exec('pragma journal_mode = wal');
  const isChecked = statSync(file).size <= defaultLimits.checkMaxBytes;
  const verdict = isChecked ? Object.values(database.prepare('pragma quick_check(1)').get() ?? {})[0] : 'ok';
  if (verdict !== 'ok') throw keysDamaged(folder, String(verdict));
}

/** Uses a rollback journal, so that the mark is in the file itself and not in a write-ahead log; one process at a time. */
function create(database: DatabaseSync, file: string): void {
  database.exec('begin immediate');
  try {
    const isMade = numberOf(database, 'application_id') === APPLICATION_ID;
    const tables = database.prepare('select count(*) as count from sqlite_schema').get() as { readonly count: number };
    if (!isMade && tables.count > 0) throw foreign(file);
    if (!isMade) {
      database.exec(createKeySchema);
      database.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${FORMAT_VERSION}`);
    }
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

function numberOf(database: DatabaseSync, pragma: 'application_id' | 'user_version'): number {
  return Number(Object.values(database.prepare(`pragma ${pragma}`).get() ?? {})[0]);
}

/** Scrubs for a process that died after it had destroyed keys. When that fails now, the next `destroy` does it. */
function finishScrub(keys: SqliteKeys): void {
  try {
    keys.finishScrub();
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
  }
}
