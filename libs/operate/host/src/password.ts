/** Owns passwords that are asked for at each connection, so that one which was rotated is taken without a restart. Must not print one. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ConfigError, UnavailableError } from '@tidemark/core';

export type Password = () => Promise<string>;

/** Longest run of a command that prints a password, in milliseconds, and its longest output. */
const COMMAND_TIMEOUT_MS = 10_000;
const COMMAND_MAX_BYTES = 64 * 1_024;

/** The file that the setting names; it is checked at once. Throws `ConfigError` (`password-file-unreadable`, `setting-invalid`). */
export function passwordIn(setting: string, path: string): Password {
  try {
    if (withoutLineEnd(readFileSync(path, 'utf8')) === '') throw wrong(`${setting}: ${path} is empty`);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError('password-file-unreadable', unreadable(setting, path, error), { setting, path });
  }
  return async () => {
    try {
      return withoutLineEnd(await readFile(path, 'utf8'));
    } catch (error) {
      throw new UnavailableError('password-unavailable', unreadable(setting, path, error), { setting, path });
    }
  };
}

/** What the command prints, run by the shell. Its errors are not repeated, which may hold what it was about to print. */
export function passwordBy(setting: string, command: string): Password {
  return async () => {
    try {
      const bounds = { timeout: COMMAND_TIMEOUT_MS, maxBuffer: COMMAND_MAX_BYTES };
      const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], bounds);
      const password = withoutLineEnd(stdout);
      if (password !== '') return password;
      throw new UnavailableError('password-unavailable', `The command of ${setting} prints nothing.`, { setting });
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      const { code, killed } = error as { readonly code?: unknown; readonly killed?: boolean };
      const how = killed === true ? `did not end within ${COMMAND_TIMEOUT_MS} ms` : `ended with ${code}`;
      throw new UnavailableError('password-unavailable', `The command of ${setting} ${how}.`, { setting });
    }
  };
}

export const wrong = (what: string): ConfigError =>
  new ConfigError('setting-invalid', `Wrong settings in the environment: ${what}.`);

/** As written by people and by mounts of secrets. */
const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, '');

function unreadable(setting: string, path: string, error: unknown): string {
  const { code = 'unreadable' } = error as { readonly code?: string };
  return `${setting}: ${path} can't be read (${code}).`;
}
