/**
 * Owns the lock of a log's folder: one process at a time. The lock is SQLite's own on an empty file, so the operating system releases it
 * with the process, also after kill -9. A file beside it holds the holder's process id, for messages alone: it is never trusted.
 */

import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '@tidemark/core';
import { asLogError, isBusy } from './sqlite-errors.ts';

export interface FolderLock {
  release(): void;
}

/** Throws `ConfigError` with code `log-locked` when another process has it; the folder is then untouched. */
export function lockFolder(folder: string): FolderLock {
  const holderFile = path.join(folder, 'lock.pid');
  const lock = openLock(folder);
  try {
    // Without a journal file the lock leaves no traces.
    lock.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive');
  } catch (error) {
    lock.close();
    throw isBusy(error) ? lockedError(folder, holderFile) : asLogError(folder, error);
  }
  try {
    // Removes what a dead holder left; a link that somebody put there is removed, not followed.
    rmSync(holderFile, { force: true });
    writeFileSync(holderFile, `${process.pid}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    lock.close();
    throw asLogError(folder, error);
  }
  return {
    release() {
      rmSync(holderFile, { force: true });
      lock.close();
    },
  };
}

function openLock(folder: string): DatabaseSync {
  const file = path.join(folder, 'lock');
  try {
    closeSync(openSync(file, 'a', 0o600));
    return new DatabaseSync(file, { timeout: 0 });
  } catch (error) {
    throw asLogError(folder, error);
  }
}

function lockedError(folder: string, holderFile: string): ConfigError {
  const pid = holder(holderFile);
  const by = pid === undefined ? 'another process' : pid === process.pid ? 'this process' : `process ${pid}`;
  return new ConfigError('log-locked', `The log in ${folder} is in use by ${by}; nothing was changed.`, {
    folder,
    pid,
  });
}

function holder(holderFile: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(holderFile, 'utf8'), 10);
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined; // it holds the lock and has not written its number yet
  }
}
