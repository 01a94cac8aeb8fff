/**
 * Owns opening and creating the database file. A new one is created under another name and renamed when it is complete, so that a file with
 * the log's name is always whole. The caller holds the folder's lock.
 */

import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { APPLICATION_ID, FORMAT_VERSION } from './inspect-file.ts';
import type { SqliteLogLimits } from './limits.ts';
import { addPartition } from './sql/records.ts';
import { createSchema, UPGRADES } from './sql/schema.ts';

/** Page size, fixed when the file is created: with 8 KiB a group of small records costs half as many writes as with 4 KiB. */
const PAGE_BYTES = 8 * 1024;

export type Synchronous = 'full' | 'normal';

export function createFile(folder: string, file: string, partitions: number): void {
  const unfinished = `${file}.new`;
  for (const ending of ['', '-journal', '-wal', '-shm']) rmSync(`${unfinished}${ending}`, { force: true });
  // For its owner alone; SQLite copies that to the files that it puts beside it.
  closeSync(openSync(unfinished, 'wx', 0o600));
  const database = new DatabaseSync(unfinished);
  try {
    database.exec(`pragma page_size = ${PAGE_BYTES}`);
    database.exec('begin');
    database.exec(createSchema);
    database.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${FORMAT_VERSION}`);
    const add = database.prepare(addPartition);
    for (let partition = 0; partition < partitions; partition++) add.run(partition);
    database.exec('commit');
    database.exec('pragma journal_mode = wal');
  } finally {
    database.close();
  }
  renameSync(unfinished, file);
  syncFolder(folder);
}

/** Opens the file for writing; one of an older format is upgraded, each format in a transaction of its own. */
export function openFile(
  file: string,
  synchronous: Synchronous,
  limits: SqliteLogLimits,
  upgrades: readonly string[] = UPGRADES,
): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Exclusive: the index of the write-ahead log is in memory, and no other process takes part.
    database.exec(`pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = ${synchronous}`);
    // Only macOS needs this to reach the disk itself; elsewhere it has no effect.
    if (synchronous === 'full') database.exec('pragma fullfsync = 1; pragma checkpoint_fullfsync = 1');
    database.exec(`pragma wal_autocheckpoint = ${limits.checkpointPages}`);
    database.exec(`pragma cache_size = ${-Math.ceil(limits.cacheMaxBytes / 1024)}; pragma temp_store = memory`);
    database.exec(`pragma max_page_count = ${Math.max(1, Math.floor(limits.fileMaxBytes / PAGE_BYTES))}`);
    upgrade(database, upgrades);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function upgrade(database: DatabaseSync, upgrades: readonly string[]): void {
  const { user_version: found } = database.prepare('pragma user_version').get() as { user_version: number };
  for (let format = found; format <= upgrades.length; format++) {
    database.exec(`begin immediate; ${upgrades[format - 1]}; pragma user_version = ${format + 1}; commit`);
  }
}

/** A new name survives power loss only when its folder was synced, which not every platform can. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
