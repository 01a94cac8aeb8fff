/**
 * Owns the ObjectStore in a folder: objects are files under their names, temporary files lie in `.writing/`, which is no object's name.
 * Invariants (O1): a file is whole and durable before it has its name (write, fsync), and gets it by link(2), which succeeds for one of
 * several and never replaces anything; `create` returns once the folders that name it are durable, also when it returns false. Several
 * processes may share the folder. Must not create the folder again when it vanished (a disk that is not mounted): its content would seem
 * lost.
 */

import { link, mkdir, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { ObjectBlobs } from '@tidemark/codec';
import {
  type BlobStore,
  checkObjectName,
  checkObjectSize,
  isObjectName,
  type ObjectStore,
  type Recall,
  Turns,
} from '@tidemark/ports';
import { codeOf, makeFolder, syncFolder, writeDurably } from './durable-files.ts';
import { type FolderUse, GuardedFolder } from './guarded-folder.ts';
import { removeAbandoned, temporaryName } from './temporary-files.ts';

/** Blobs or objects written or read at once; more wait. Bounds open files and memory. */
const FILES_OPEN_MAX = 32;
/** Folders whose names are remembered as durable; any others are synced again. */
const FOLDERS_KNOWN_MAX = 100_000;

export interface FsObjectsOptions {
  /** Created when missing. To create objects its file system must have hard links; blobs need none. */
  readonly folder: string;
}

const WRITING = '.writing';
/** The path is missing, or is a folder of other objects, or has an object where a folder would be. */
const ABSENT = ['ENOENT', 'ENOTDIR', 'EISDIR'];

/**
 * Opens the folder and removes what dead processes left half written. Throws `ConfigError` (`object-folder-invalid`) when the path is no
 * folder, `UnavailableError` when it can't be created. A read-only folder serves reads.
 */
export const openFsObjects = (options: FsObjectsOptions): Promise<ObjectStore> => open(options, 'object');

/** Blobs as files `ab/abcd…/DIGEST` (object-blobs.ts of the codec). Throws as `openFsObjects` does (`blob-folder-invalid`). */
export const openFsBlobs = async (options: FsObjectsOptions): Promise<BlobStore> =>
  new ObjectBlobs(await open(options, 'blob'));

async function open(options: FsObjectsOptions, use: FolderUse): Promise<ObjectStore> {
  const folder = new GuardedFolder(options.folder, use);
  await folder.make();
  await removeAbandoned(path.join(folder.path, WRITING), Date.now());
  return new FsObjects(folder);
}

class FsObjects implements ObjectStore {
  readonly place: string;
  readonly #guard: GuardedFolder;
  readonly #turns = new Turns(FILES_OPEN_MAX);
  readonly #writing = new Set<Promise<unknown>>();
  /** Folders whose names are known to be durable. */
  readonly #durable = new Set<string>();

  constructor(guard: GuardedFolder) {
    this.#guard = guard;
    this.place = guard.path;
  }

  create(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#write(name, bytes, (file) => this.#create(file, bytes));
  }

  put(name: string, bytes: Uint8Array): Promise<void> {
    return this.#write(name, bytes, (file) => this.#put(file, bytes));
  }

  async #write<T>(name: string, bytes: Uint8Array, write: (file: string) => Promise<T>): Promise<T> {
    const file = this.#file(name);
    checkObjectSize(bytes);
    const writing = this.#turns.run(() => write(file));
    this.#writing.add(writing);
    try {
      return await writing;
    } catch (error) {
      throw this.#guard.unavailable(error);
    } finally {
      this.#writing.delete(writing);
    }
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    const file = this.#file(name);
    const bytes = await this.#guard.guarded(() => this.#turns.run(() => readFile(file)), ...ABSENT);
    if (bytes === undefined) await this.#guard.check();
    return bytes;
  }

  async *list(prefix: string): AsyncIterable<string> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    if (folder !== '' && !isObjectName(folder.slice(0, -1))) return;
    await this.#guard.check();
    yield* this.#below(folder, prefix);
  }

  async remove(name: string): Promise<void> {
    const file = this.#file(name);
    const isGone = await this.#guard.guarded(() => unlink(file).then(() => true), ...ABSENT);
    if (isGone === undefined) await this.#guard.check();
  }

  async recall(name: string): Promise<Recall> {
    const file = this.#file(name);
    if ((await this.#guard.guarded(() => isFile(file), ...ABSENT)) === true) return { state: 'ready' };
    await this.#guard.check();
    return { state: 'absent' };
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#writing);
  }

  #file(name: string): string {
    return path.join(this.place, checkObjectName(name));
  }

  async #create(file: string, bytes: Uint8Array): Promise<boolean> {
    if (await isFile(file)) {
      await this.#makeDurable(file);
      return false;
    }
    return await this.#named(file, bytes, (temporary) => this.#name(temporary, file));
  }

  async #put(file: string, bytes: Uint8Array): Promise<void> {
    const existing = await unlessAbsent(() => readFile(file));
    if (existing !== undefined && Buffer.compare(existing, bytes) === 0) await this.#makeDurable(file);
    else await this.#named(file, bytes, (temporary) => rename(temporary, file));
  }

  /** Writes the bytes to a temporary file, which `name` gives the file's name, and makes both durable. */
  async #named<T>(file: string, bytes: Uint8Array, name: (temporary: string) => Promise<T>): Promise<T> {
    const temporary = path.join(this.place, WRITING, temporaryName());
    await makeFolder(path.dirname(temporary), 0o700);
    try {
      // What was said is for this user alone, as the log that names it is.
      await writeDurably(temporary, bytes, 0o600);
      const made = await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
      if (made !== undefined) this.#forget(made, file);
      const named = await name(temporary);
      await this.#makeDurable(file);
      return named;
    } finally {
      await unlink(temporary).catch(() => {});
    }
  }

  /** Whether this call gave the file the name, which nothing had before. */
  async #name(temporary: string, file: string): Promise<boolean> {
    try {
      await link(temporary, file);
      return true;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
      // A network's file system may have done it and lost the answer; its retry then meets its own work.
      if ((await stat(temporary)).nlink > 1) return true;
      if (await isFile(file)) return false;
      throw error;
    }
  }

  /** A name is durable once its folder is, and the folders that name that one, whichever process created them. */
  async #makeDurable(file: string): Promise<void> {
    const made: string[] = [];
    let folder = path.dirname(file);
    await syncFolder(folder);
    for (; folder !== this.place && !this.#durable.has(folder); folder = path.dirname(folder)) {
      await syncFolder(path.dirname(folder));
      made.push(folder);
    }
    if (this.#durable.size + made.length > FOLDERS_KNOWN_MAX) this.#durable.clear();
    for (const each of made) this.#durable.add(each);
  }

  /** Someone removed folders, and this process created them again: `made` and those from there down to the file. */
  #forget(made: string, file: string): void {
    for (let at = path.dirname(file); at.length >= made.length; at = path.dirname(at)) this.#durable.delete(at);
  }

  /** `folder` ends with a slash, or is empty for all. */
  async *#below(folder: string, prefix: string): AsyncIterable<string> {
    for (const entry of await this.#entries(folder)) {
      const name = `${folder}${entry}`;
      if (!name.startsWith(prefix)) continue;
      if (name.endsWith('/')) yield* this.#below(name, prefix);
      else yield name;
    }
  }

  /** Folders have a slash at their end, so that the order is that of whole names. Skips names that no object can have. */
  async #entries(folder: string): Promise<string[]> {
    const read = () => readdir(path.join(this.place, folder), { withFileTypes: true });
    const entries = (await this.#guard.guarded(read, ...ABSENT)) ?? [];
    return entries
      .filter((entry) => (entry.isFile() || entry.isDirectory()) && isObjectName(`${folder}${entry.name}`))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .sort();
  }
}

/** False: it is missing, or is something else. */
const isFile = async (file: string): Promise<boolean> => (await unlessAbsent(() => stat(file)))?.isFile() ?? false;

async function unlessAbsent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
