/** Owns what SQLite's result codes mean for users of the log. Must not decide whether to continue. */

import { ConfigError, CorruptError, messageOf, TidemarkError, UnavailableError } from '@tidemark/core';

const BUSY = 5;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

/** SQLite's primary result code, or undefined when the error is of another kind. */
export function resultCode(error: unknown): number | undefined {
  const shape = error as { code?: unknown; errcode?: unknown } | null;
  return shape?.code === 'ERR_SQLITE_ERROR' && typeof shape.errcode === 'number' ? shape.errcode & 0xff : undefined;
}

export const isBusy = (error: unknown): boolean => resultCode(error) === BUSY;

export const damaged = (folder: string, why: string, cause?: unknown): CorruptError =>
  new CorruptError(
    'log-damaged',
    `The log in ${folder} is damaged: ${why.replaceAll(/\s+/g, ' ')}. Nothing was changed.`,
    { folder, cause },
  );

/** What the file system answers where the folder is another user's. */
const isForbidden = (error: unknown): boolean =>
  /^(?:EACCES|EPERM|EROFS)$/.test(String((error as { readonly code?: unknown } | null)?.code));

function unusable(folder: string, cause: unknown): ConfigError {
  const message = isForbidden(cause)
    ? `This user may not write to the folder ${folder}. Ask the one whose folder it is, or name another folder.`
    : `The log in ${folder} can't be written: ${messageOf(cause)}.`;
  return new ConfigError('log-folder-unusable', message, { folder, cause });
}

/** Turns what SQLite or the file system threw into what the port promises. */
export function asLogError(folder: string, error: unknown): unknown {
  if (error instanceof TidemarkError) return error;
  const message = messageOf(error);
  switch (resultCode(error)) {
    case undefined:
      return isForbidden(error) ? unusable(folder, error) : error;
    case CORRUPT:
    case NOTADB:
      return damaged(folder, message, error);
    case FULL:
      return new UnavailableError('log-full', `There is no room left for the log in ${folder}: ${message}.`, {
        folder,
        cause: error,
      });
    case READONLY:
    case CANTOPEN:
      return unusable(folder, error);
    case IOERR:
      return new UnavailableError('log-io-error', `Reading or writing the log in ${folder} failed: ${message}.`, {
        folder,
        cause: error,
      });
    default:
      return new UnavailableError('log-unavailable', `The log in ${folder} can't be used: ${message}.`, {
        folder,
        cause: error,
      });
  }
}
