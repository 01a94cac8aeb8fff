/** Owns the contexts of a user: servers by names, each with its credential, in one file that its owner alone can read. Must not call any of them. */

import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ConfigError, InvalidError, parseJson } from '@tidemark/core';
import { isForeign } from '@tidemark/ports';
import { CONTEXT_NAME } from '../limits.ts';
import { type Context, type ContextsFile, oddIn } from './contexts-file.ts';

/** Largest file of contexts, in bytes, and most contexts in it. */
const CONTEXTS_MAX_BYTES = 1_048_576;
const CONTEXTS_MAX_COUNT = 100;
/** How long a command waits for another that changes them, which may wait for an issuer; milliseconds. */
const CONTEXTS_WAIT_MS = 30_000;

type Env = Readonly<Record<string, string | undefined>>;

const EMPTY: ContextsFile = { version: 1, current: null, contexts: {} };

/** `tidemark/contexts.json` in the user's folder of settings. */
export function contextsPath(env: Env): string {
  const { XDG_CONFIG_HOME: settings, HOME: home } = env;
  const folder = settings !== undefined && settings !== '' ? settings : path.join(home ?? os.homedir(), '.config');
  return path.join(folder, 'tidemark', 'contexts.json');
}

/** Without a file there are none. Throws `ConfigError` (`contexts-unreadable`), without quoting the file: it holds credentials. */
export async function readContexts(env: Env): Promise<ContextsFile> {
  const file = contextsPath(env);
  let text: string;
  try {
    const { size, mode, uid } = await stat(file);
    if (isForeign({ uid }, process.geteuid?.())) throw unreadable(file, `it belongs to another user (${uid})`);
    if (size > CONTEXTS_MAX_BYTES) throw unreadable(file, `it has more than ${CONTEXTS_MAX_BYTES} bytes`);
    if ((mode & 0o077) !== 0) throw unreadable(file, `others can read it. Give the command: chmod 600 ${file}`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY;
    if (error instanceof ConfigError) throw error;
    throw unreadable(file, (error as NodeJS.ErrnoException).code ?? 'it can not be opened');
  }
  let value: unknown;
  try {
    value = parseJson(text, file);
  } catch {
    throw unreadable(file, 'it is not JSON, or has a key twice');
  }
  const odd = oddIn(value);
  if (odd === undefined) return value as ContextsFile;
  throw unreadable(file, `${odd} is not as tidemark login writes it`);
}

/** Ends when this process's previous change has: the lock excludes other processes. */
let changing: Promise<unknown> = Promise.resolve();

/**
 * Changes the current content: one command at a time, however long the change takes, so that no other's is lost. An unchanged result is not
 * written. Resolves to the previous content. Throws as `readContexts`, `ConfigError` (`contexts-unwritable`), `InvalidError`
 * (`contexts-too-many`), `UnavailableError` (`state-locked`), and what the change throws.
 */
export function changeContexts(env: Env, change: Change): Promise<ContextsFile> {
  const changed = changing.then(() => changeAlone(env, change));
  changing = changed.catch(() => {});
  return changed;
}

type Change = (contexts: ContextsFile) => ContextsFile | Promise<ContextsFile>;

async function changeAlone(env: Env, change: Change): Promise<ContextsFile> {
  const file = contextsPath(env);
  // A command that only reads must not load it.
  const { withPassingLock } = await import('@tidemark/repo-state/lock');
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    return await withPassingLock(`${file}.lock`, CONTEXTS_WAIT_MS, async () => {
      const before = await readContexts(env);
      const after = await change(before);
      if (after !== before) await writeContexts(env, after);
      return before;
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Of the folder, or of the lock in it.
    const isPlace = (error as NodeJS.ErrnoException).syscall !== undefined || code === 'ERR_SQLITE_ERROR';
    throw isPlace ? unwritable(file, code) : error;
  }
}

async function writeContexts(env: Env, contexts: ContextsFile): Promise<void> {
  const count = Object.keys(contexts.contexts).length;
  if (count > CONTEXTS_MAX_COUNT) {
    throw new InvalidError('contexts-too-many', `There would be ${count} contexts: ${CONTEXTS_MAX_COUNT} at most.`);
  }
  const file = contextsPath(env);
  const beside = `${file}.${randomUUID()}`;
  try {
    await writeFile(beside, `${JSON.stringify(contexts, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
    await chmod(beside, 0o600);
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true }).catch(() => {});
    throw unwritable(file, (error as NodeJS.ErrnoException).code);
  }
}

/** Throws `ConfigError` (`context-unknown`). */
export function contextNamed({ contexts }: ContextsFile, name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(contexts);
  const list = known.length === 0 ? 'there are none: tidemark login makes one' : `there are ${known.join(', ')}`;
  throw new ConfigError('context-unknown', `--context: there is no '${name.slice(0, 100)}'; ${list}.`);
}

/** Throws `InvalidError` (`context-name-invalid`). */
export function checkContextName(name: string): string {
  if (CONTEXT_NAME.test(name)) return name;
  throw new InvalidError(
    'context-name-invalid',
    'Give 1 to 100 letters, digits, dots, underscores or hyphens as its name.',
  );
}

const unwritable = (file: string, code: string | undefined): ConfigError =>
  new ConfigError(
    'contexts-unwritable',
    `${file} can't be written (${code}). Name another folder with XDG_CONFIG_HOME.`,
  );

const unreadable = (file: string, why: string): ConfigError =>
  new ConfigError('contexts-unreadable', `${file} can't be read: ${why}. Correct it, or remove it and log in again.`);
