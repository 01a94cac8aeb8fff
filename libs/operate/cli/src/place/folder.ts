/** Owns which state folder is meant, whether it holds anything, and whether another process holds it. */

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, CorruptError } from '@tidemark/core';
import { refuseForeignState } from '@tidemark/host/state-folder';
import type { Session } from '../session.ts';

/** Default folder of the state. */
export const DEFAULT_FOLDER = '.tidemark';

export interface Folder {
  readonly kind: 'embedded';
  /** Absolute. */
  readonly folder: string;
  /** As the user named it. */
  readonly shown: string;
  /** Its settings, for the process that holds it. */
  readonly env: Session['env'];
}

/** Throws as `refuseForeignState`: nothing of another's folder is opened, its socket neither. */
export function folderTarget(shown: string, { env, cwd }: Pick<Session, 'env' | 'cwd'>): Folder {
  const folder = path.resolve(cwd, shown);
  refuseForeignState(folder, shown);
  return { kind: 'embedded', folder, shown, env };
}

/**
 * Whether there is anything to read; a command that only reads creates nothing. Throws `ConfigError` (`state-no-folder`), and
 * `CorruptError` (`log-missing`) where rows prove that a log is gone: that isn't the same as an empty folder.
 */
export function exists({ folder, shown }: Folder): boolean {
  if (existsSync(folder) && !statSync(folder).isDirectory()) {
    throw new ConfigError('state-no-folder', `${shown} is a file. Name a folder with --state.`);
  }
  if (existsSync(path.join(folder, 'log'))) return true;
  if (!existsSync(path.join(folder, 'rows'))) return false;
  const message = `${shown} has rows, but its log is gone. Restore the folder log from a copy: without it, what was started there is forgotten, and starting it again calls its effects again.`;
  throw new CorruptError('log-missing', message);
}

export const isInUse = (error: unknown): error is ConfigError =>
  error instanceof ConfigError && error.code === 'log-locked';

/** The process that holds the folder; undefined: nobody does, or it isn't known. */
export function pidOf(busy: ConfigError | undefined): number | undefined {
  const pid = busy?.details.pid;
  return typeof pid === 'number' ? pid : undefined;
}

/** Leaves other errors unchanged. `error`: as opening it failed; undefined: others were first all the time. */
export function inUse(error: unknown, { shown }: Folder): unknown {
  const busy = isInUse(error) ? error : undefined;
  if (error !== busy) return error;
  const pid = pidOf(busy);
  const who = pid !== undefined ? `process ${pid}` : 'another process';
  const message = `${shown} is in use by ${who}, which doesn't answer here; it may be starting. Wait for it, end it, or use another folder (--state).`;
  return new ConfigError('log-locked', message, { ...busy?.details, cause: busy });
}
