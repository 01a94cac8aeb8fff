/**
 * Owns who may write a state: one process at a time. The lock is SQLite's own on an empty file, as for the log in a folder: the operating
 * system holds it for a living process and releases it with the process, also after `kill -9`, so there is no stale lock that two could
 * take over at once. The file itself stays, and stays empty, except that of a passing lock. No other code may open the file: closing it
 * would free the lock of a holder in the same process (POSIX). Must not read any clock.
 */

import { closeSync, fstatSync, openSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { InvalidError, UnavailableError } from '@tidemark/core';
import { linkError, nodeFiles } from './files.ts';
import { LOCK_PAUSE_MAX_MS, LOCK_PAUSE_MS } from './limits.ts';

const BUSY = 5;
const NOT_A_DATABASE = 26;

/** Runs the work while this process alone has the lock. Throws `UnavailableError` (`state-locked`) after the wait. */
export async function withLock<T>(file: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const lock = await take(file, waitMs);
  try {
    return await work();
  } finally {
    lock.close();
  }
}

/**
 * The same with a file that is gone afterwards. One at a time in a process: the caller sees to that, since a second one would free the lock
 * of the first.
 */
export async function withPassingLock<T>(file: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const lock = await take(file, waitMs, tryPassing);
  try {
    return await work();
  } finally {
    lock.close();
  }
}

type Lock = Pick<DatabaseSync, 'close'>;

async function take(
  file: string,
  waitMs: number,
  tryOnce: (file: string) => Lock | undefined = tryLock,
): Promise<Lock> {
  // SQLite would follow it, and create a file wherever it leads.
  if ((await nodeFiles.stat(file)).kind === 'link') throw linkError(file);
  let waitedMs = 0;
  let pauseMs = LOCK_PAUSE_MS;
  for (;;) {
    const lock = tryOnce(file);
    if (lock !== undefined) return lock;
    if (waitedMs >= waitMs) {
      throw new UnavailableError(
        'state-locked',
        `Another process has been writing this state for ${Math.ceil(waitMs / 1_000)} s (${file}). Try again; nothing was changed.`,
        { file },
      );
    }
    // A random pause, so that waiting processes don't retry together.
    const pause = pauseMs * (0.5 + Math.random());
    await new Promise((resolve) => setTimeout(resolve, pause));
    waitedMs += pause;
    pauseMs = Math.min(pauseMs * 2, LOCK_PAUSE_MAX_MS);
  }
}

function tryLock(file: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    // Without a journal file the lock leaves no traces.
    lock.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive');
    return lock;
  } catch (error) {
    lock.close();
    const { errcode } = error as { errcode?: number };
    if (errcode === BUSY) return undefined;
    if (errcode !== NOT_A_DATABASE) throw error;
    throw new InvalidError(
      'lock-foreign',
      `${file} is not a lock file of Tidemark: it is not empty. Move it elsewhere.`,
      {
        cause: error,
      },
    );
  }
}

/**
 * A lock on a file that its holder removes counts only if the file still has its name: one that was opened before the removal is another's.
 * The descriptor keeps the inode in use meanwhile, so no later file of this name can have the same number.
 */
function tryPassing(file: string): Lock | undefined {
  const pin = openSync(file, 'a', 0o600);
  let lock: DatabaseSync | undefined;
  const close = (): void => {
    lock?.close();
    closeSync(pin);
  };
  try {
    lock = tryLock(file);
    const named = statSync(file, { bigint: true, throwIfNoEntry: false });
    const isNamed = named?.ino === fstatSync(pin, { bigint: true }).ino;
    if (lock !== undefined && isNamed) {
      return {
        close() {
          rmSync(file, { force: true });
          close();
        },
      };
    }
  } catch (error) {
    close();
    throw error;
  }
  close();
  return undefined;
}
