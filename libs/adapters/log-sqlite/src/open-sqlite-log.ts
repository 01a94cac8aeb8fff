/**
 * Owns opening a log's folder, in an order that leaves every other folder untouched: inspect the file, take the lock, check the structure,
 * and only then open it for writing.
 */

import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, InvalidError, messageOf, TidemarkError } from '@tidemark/core';
import type { EventLog } from '@tidemark/ports';
import { lockFolder } from './folder-lock.ts';
import { checkStructure, inspectHeader } from './inspect-file.ts';
import { defaultLimits, type SqliteLogLimits } from './limits.ts';
import { createFile, openFile, type Synchronous } from './open-file.ts';
import { asLogError } from './sqlite-errors.ts';
import { SqliteLog } from './sqlite-log.ts';

export interface SqliteLogOptions {
  /** Folder of the log alone; created when missing. Holds `log.db`, SQLite's files beside it, and the lock. */
  readonly folder: string;
  /** Partitions of a log that is created here; an existing one keeps its number. Default 16. */
  readonly partitions?: number;
  /** `full` (default): an acknowledged append survives power loss. `normal`: it survives the death of the process. */
  readonly synchronous?: Synchronous;
  readonly limits?: Partial<SqliteLogLimits>;
}

const DEFAULT_PARTITIONS = 16;

/**
 * Opens the log, creating it when the folder has none. Throws `ConfigError`: `log-locked` (another process has it, with `details.pid` where
 * known), `log-newer`, `log-foreign`, `log-folder-unusable`; `CorruptError`: `log-damaged`. The log's files are then unchanged, byte for
 * byte.
 */
export async function openSqliteLog(options: SqliteLogOptions): Promise<EventLog> {
  const { synchronous = 'full', partitions = DEFAULT_PARTITIONS } = options;
  if (!Number.isInteger(partitions) || partitions < 1) {
    throw new InvalidError('partitions-invalid', `A log needs at least one partition, not ${partitions}.`, {
      partitions,
    });
  }
  const folder = path.resolve(options.folder);
  const file = path.join(folder, 'log.db');
  const limits = { ...defaultLimits, ...options.limits };
  makeFolder(folder);
  inspectHeader(folder, file);
  const lock = lockFolder(folder);
  try {
    // Inspects it again: the previous holder of the lock may have written meanwhile.
    if (inspectHeader(folder, file)) checkStructure(folder, file, limits.checkMaxBytes);
    else createFile(folder, file, partitions);
    const database = openFile(file, synchronous, limits);
    const durability = synchronous === 'full' ? 'power' : 'process';
    try {
      return new SqliteLog({ folder, database, durability, limits, release: () => lock.release() });
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw asLogError(folder, error);
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!statSync(folder).isDirectory())
      throw new ConfigError('log-folder-unusable', `${folder} is not a folder. Name another one.`, { folder });
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    const why = messageOf(error);
    throw new ConfigError('log-folder-unusable', `The folder ${folder} can't be made: ${why}.`, {
      folder,
      cause: error,
    });
  }
}
