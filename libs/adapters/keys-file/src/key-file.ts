/**
 * Owns the key file: reading, creating and replacing it. Invariants: the file under its name is whole, is readable by its owner alone from
 * the first byte on, and keeps every key that it ever held. Several processes may use it at once. No error contains a key.
 */

import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, ConflictError, messageOf, TidemarkError } from '@tidemark/core';

/** Largest key file that is read, in bytes: thousands of rotations. A larger file is no key file. */
const KEY_FILE_MAX_BYTES = 1024 * 1024;

/** The file as it was read. */
export interface KeyFile {
  /** The id of the key that wraps new data keys. */
  readonly current: string;
  readonly keys: ReadonlyMap<string, KeyObject>;
  /** Changes when the file is replaced. */
  readonly stamp: string;
}

interface Entry {
  readonly id: string;
  /** Shown to people. */
  readonly createdAt: string;
  /** In base64. */
  readonly key: string;
}

const FORMAT = 1;
const KEY_BYTES = 32;
const NOTE =
  'Keys that wrap the data keys of Tidemark. Keep a copy in a safe place: without this file nothing that was encrypted can be read.';

/** Bits of a file's mode for users other than its owner; and the one allowed if root owns the file, whose group root has chosen. */
const OTHERS = 0o077n;
const GROUP_READS = 0o040n;

export async function readKeyFile(file: string): Promise<KeyFile> {
  return (await read(file)).keyFile;
}

/** Creates the file with one key where there is none; harmless when it exists, and when several processes do it at once. */
export async function makeKeyFile(file: string): Promise<void> {
  const fresh = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    try {
      const entry = newEntry();
      await write(await open(fresh, 'wx', 0o600), [entry], entry.id);
      // Unlike a rename this never replaces a file that another process created meanwhile.
      await link(fresh, file).catch((error: unknown) => {
        if (codeOf(error) !== 'EEXIST') throw error;
      });
    } finally {
      await rm(fresh, { force: true });
    }
    await syncFolder(file);
  } catch (error) {
    throw unusable(file, "can't be made", error);
  }
}

/** Adds a key, which wraps new data keys from now on. Returns its id. */
export async function addKey(file: string): Promise<string> {
  // The draft has a fixed name: the process that creates it is the only one to replace the file, or one of two new keys would be lost.
  const next = `${file}.next`;
  const handle = await open(next, 'wx', 0o600).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw unusable(file, "can't be replaced", error);
    const message = `The key file ${file} is already being rotated. If no process is rotating it any more, remove ${next}.`;
    throw new ConflictError('key-file-busy', message, { file, next });
  });
  try {
    const { entries } = await read(file).catch(async (error: unknown) => {
      await handle.close();
      throw error;
    });
    const entry = newEntry();
    await write(handle, [...entries, entry], entry.id);
    await rename(next, file);
    await syncFolder(file);
    return entry.id;
  } catch (error) {
    await rm(next, { force: true });
    throw unusable(file, "can't be replaced", error);
  }
}

export const stampOf = ({ dev, ino, mtimeNs, size }: BigIntStats): string => [dev, ino, mtimeNs, size].join(' ');

/** Returns an error that already has a code as it is. The cause names a file, never its content. */
export function unusable(file: string, what: string, error: unknown): unknown {
  if (error instanceof TidemarkError) return error;
  const message = `The key file ${file} ${what}: ${messageOf(error)}.`;
  return new ConfigError('key-file-unusable', message, { file, cause: error });
}

function newEntry(): Entry {
  const key = randomBytes(KEY_BYTES);
  return { id: idOf(key), createdAt: new Date().toISOString(), key: key.toString('base64') };
}

/** A key's id derives from the key, so that a changed key in the file is noticed. */
const idOf = (key: Uint8Array): string =>
  createHash('sha256').update('tidemark key id\0').update(key).digest('hex').slice(0, 16);

async function write(handle: FileHandle, keys: readonly Entry[], current: string): Promise<void> {
  try {
    await handle.writeFile(`${JSON.stringify({ tidemarkKeys: FORMAT, note: NOTE, current, keys }, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function read(file: string): Promise<{ readonly entries: readonly Entry[]; readonly keyFile: KeyFile }> {
  let text: string;
  let stats: BigIntStats;
  try {
    const handle = await open(file, 'r');
    try {
      stats = await handle.stat({ bigint: true });
      refuseExposed(file, stats);
      text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw unusable(file, "can't be read", error);
  }
  const { current, entries } = parsed(file, text);
  const keys = new Map(entries.map(({ id, key }) => [id, createSecretKey(key, 'base64')]));
  return { entries, keyFile: { current, keys, stamp: stampOf(stats) } };
}

/** Throws `ConfigError` (`key-file-exposed`, `key-file-foreign`). `own`: the user who runs this; undefined on systems without users. */
export function refuseExposed(
  file: string,
  stats: Pick<BigIntStats, 'isFile' | 'size' | 'mode' | 'uid'>,
  own = process.geteuid?.(),
): void {
  if (!stats.isFile() || stats.size > KEY_FILE_MAX_BYTES) throw foreign(file);
  // Windows has no such modes; the folder decides who may read the file.
  if (process.platform === 'win32') return;
  // The mode of a Secret mounted for a pod with an fsGroup.
  const isRoots = stats.uid === 0n && own !== 0;
  if ((stats.mode & OTHERS & ~(isRoots ? GROUP_READS : 0n)) !== 0n) {
    const mode = (stats.mode & 0o777n).toString(8);
    const message = `The key file ${file} has mode ${mode}: users other than its owner can access it. Run chmod 600 on it, and rotate its keys if someone may have read it.`;
    throw new ConfigError('key-file-exposed', message, { file, mode });
  }
  if (own !== undefined && stats.uid !== BigInt(own) && stats.uid !== 0n) {
    const message = `The key file ${file} belongs to user ${stats.uid}, not to the one who runs this (${own}).`;
    throw new ConfigError('key-file-exposed', message, { file, owner: Number(stats.uid) });
  }
}

function parsed(file: string, text: string): { readonly current: string; readonly entries: readonly Entry[] } {
  const value = asObject(json(text));
  // Without a cause: a parser's message quotes the text.
  if (value === undefined) throw damaged(file, 'it is not a JSON object');
  if (typeof value.tidemarkKeys !== 'number') throw foreign(file);
  if (value.tidemarkKeys > FORMAT) {
    const message = `The key file ${file} has format ${value.tidemarkKeys}; this version of Tidemark reads ${FORMAT}.`;
    throw new ConfigError('key-file-newer', message, { file, found: value.tidemarkKeys, known: FORMAT });
  }
  const { current, keys } = value;
  if (!Array.isArray(keys)) throw damaged(file, 'it has no list of keys');
  const entries = keys.map((entry, index) => checkedEntry(file, asObject(entry), index));
  if (new Set(entries.map(({ id }) => id)).size < entries.length) throw damaged(file, 'it has the same key twice');
  if (typeof current !== 'string' || !entries.some(({ id }) => id === current)) {
    throw damaged(file, 'its current key is not among its keys');
  }
  return { current, entries };
}

function checkedEntry(file: string, entry: Readonly<Record<string, unknown>> | undefined, index: number): Entry {
  const { id, key, createdAt } = entry ?? {};
  if (typeof id !== 'string' || typeof key !== 'string' || typeof createdAt !== 'string') {
    throw damaged(file, `key number ${index + 1} lacks a field`);
  }
  const bytes = Buffer.from(key, 'base64');
  const isWhole = bytes.length === KEY_BYTES && idOf(bytes) === id;
  bytes.fill(0);
  if (!isWhole) throw damaged(file, `key number ${index + 1} was changed`);
  return { id, createdAt, key };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;

const damaged = (file: string, why: string): ConfigError =>
  new ConfigError('key-file-damaged', `The key file ${file} is damaged: ${why}. Restore it from a copy.`, { file });

const foreign = (file: string): ConfigError =>
  new ConfigError('key-file-foreign', `${file} is not a Tidemark key file; choose another. Nothing was changed.`, {
    file,
  });

/** A new name survives a power loss only once its folder is synced, which Windows can't do. */
async function syncFolder(file: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(path.dirname(file), 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
