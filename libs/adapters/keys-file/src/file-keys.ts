/**
 * Owns the KeyProvider with keys in a file of this machine: AES-256-GCM, bound to provider, key, tenant and workflow. Must not create or
 * lose keys by itself once it is open, or once something is wrapped: a missing file is an error, never a new file.
 */

import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, canonicalJson, UnavailableError } from '@tidemark/core';
import { type KeyContext, type KeyProvider, keyWrong, type WrappedKey } from '@tidemark/ports';
import { addKey, type KeyFile, makeKeyFile, readKeyFile, stampOf, unusable } from './key-file.ts';

export interface FileKeysOptions {
  /** Created when missing, readable by its owner alone. */
  readonly file: string;
  /** How many data keys such a file's keys have wrapped already. If there are some, a missing file was lost, and none is created. */
  readonly neededBy?: () => Promise<number>;
}

/** The provider's name. */
export const FILE_KEYS = 'local';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Throws `ConfigError`: `key-file-exposed` (others may read it), `key-file-damaged`, `key-file-foreign`, `key-file-newer`,
 * `key-file-unusable` (it can't be read or created), `key-file-missing` (it is missing, and needed); the file is then unchanged.
 */
export async function openFileKeys({ file: named, neededBy }: FileKeysOptions): Promise<KeyProvider> {
  const file = path.resolve(named);
  if (await isAbsent(file)) {
    const count = (await neededBy?.()) ?? 0;
    if (count === 0) await makeKeyFile(file);
    // Another process may have created it meanwhile, and wrapped the counted keys with it.
    else if (await isAbsent(file)) throw missing(file, count);
  }
  return new FileKeys(file, await readKeyFile(file));
}

/**
 * Adds a key that wraps from now on, and keeps the others for unwrapping; processes that have the file open notice it. Returns the new
 * key's name. Throws as `openFileKeys` does, and `ConflictError` (`key-file-busy`); the file is then unchanged.
 */
export async function rotateFileKeys(options: Pick<FileKeysOptions, 'file'>): Promise<string> {
  const file = path.resolve(options.file);
  // Replaces the target of a link, not the link.
  return addKey(await realpath(file).catch(() => file));
}

class FileKeys implements KeyProvider {
  readonly name = FILE_KEYS;
  readonly #file: string;
  #opened: KeyFile | undefined;
  #reading: Promise<KeyFile> | undefined;

  constructor(file: string, opened: KeyFile) {
    this.#file = file;
    this.#opened = opened;
  }

  async current(): Promise<string> {
    return (await this.#fresh()).current;
  }

  async wrap(dataKey: Uint8Array, context: KeyContext): Promise<WrappedKey> {
    const { current, keys } = await this.#fresh();
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, keys.get(current)!, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(boundTo(current, context));
    const wrapped = Buffer.concat([nonce, cipher.update(dataKey), cipher.final(), cipher.getAuthTag()]);
    return { provider: FILE_KEYS, wrappedBy: current, wrapped: wrapped.toString('base64') };
  }

  async unwrap(key: WrappedKey, context: KeyContext): Promise<Uint8Array> {
    if (key.provider !== FILE_KEYS) throw keyWrong(key, context, 'is not for a key file');
    // A rotation may have added an unknown key.
    const found = this.#open().keys.get(key.wrappedBy) ?? (await this.#fresh()).keys.get(key.wrappedBy);
    if (found === undefined) throw keyWrong(key, context, `needs a key that is not in ${this.#file}`);
    const dataKey = opened(found, key, context);
    if (dataKey === undefined) throw keyWrong(key, context, 'belongs to something else or was changed');
    return dataKey;
  }

  async close(): Promise<void> {
    this.#opened = undefined;
  }

  #open(): KeyFile {
    if (this.#opened === undefined)
      throw new UnavailableError('keys-unavailable', `The key file ${this.#file} is closed.`);
    return this.#opened;
  }

  /** Reads the file again: another process may have rotated it. Concurrent callers share one read. */
  #fresh(): Promise<KeyFile> {
    this.#reading ??= this.#poll().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #poll(): Promise<KeyFile> {
    const opened = this.#open();
    const stats = await stat(this.#file, { bigint: true }).catch((error: unknown) => {
      throw unusable(this.#file, "can't be read", error);
    });
    if (stampOf(stats) === opened.stamp) return opened;
    const read = await readKeyFile(this.#file);
    if (this.#opened !== undefined) this.#opened = read;
    return read;
  }
}

/** Undefined: these are not the bytes that the key wrapped for the context. */
function opened(key: KeyObject, { wrappedBy, wrapped }: WrappedKey, context: KeyContext): Uint8Array | undefined {
  const bytes = Buffer.from(wrapped, 'base64');
  // Node decodes base64 leniently, so other texts would pass as well.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64') !== wrapped) return undefined;
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(wrappedBy, context));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const dataKey = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    decipher.final();
    return new Uint8Array(dataKey);
  } catch {
    return undefined;
  } finally {
    dataKey.fill(0);
  }
}

const boundTo = (key: string, { tenant, workflow }: KeyContext): Buffer =>
  Buffer.from(canonicalJson({ key, provider: FILE_KEYS, tenant, workflow }));

async function isAbsent(file: string): Promise<boolean> {
  try {
    await stat(file);
    return false;
  } catch (error) {
    return (error as { readonly code?: unknown }).code === 'ENOENT';
  }
}

function missing(file: string, count: number): ConfigError {
  const keys = count === 1 ? '1 data key was' : `${count} data keys were`;
  const message = `The key file ${file} does not exist, and ${keys} wrapped by a key of such a file. Restore it, or a copy of it, or correct its address. No new one was made: it could not decrypt what is stored.`;
  return new ConfigError('key-file-missing', message, { file, count });
}
