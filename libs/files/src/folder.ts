/**
 * Owns a folder of files that others read at any moment: who may write it (one process), how (a temporary file, then its
 * new name), and what is set aside. Must not know what the files mean.
 *
 * F1 A reader sees a file as it was or as it is, never half of one.
 * F2 Nothing that somebody else wrote is thrown away: what is replaced against its writer's will is set aside first.
 */

import { createHash } from 'node:crypto';
import { type FileHandle, lstat, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, syncFolder, writeDurably } from '@tidemark/blob-fs/durable-files';
import { ConfigError, LimitError, UnavailableError } from '@tidemark/core';
import { FILE_MAX_BYTES } from './limits.ts';

const LOCK = '.tidemark-files.lock';
const PART = /^\..*\.part$/;

export interface FolderOptions {
  /** How a new file is written, so that it outlives the machine; tests let it fail. */
  readonly writeFile?: ((file: string, bytes: Uint8Array) => Promise<void>) | undefined;
}

export class FilesFolder {
  readonly path: string;
  readonly #write: (file: string, bytes: Uint8Array) => Promise<void>;
  readonly #lock: DatabaseSync;
  #partCount = 0;
  /** Files that were replaced a moment ago, still open, and how much of each was read. */
  readonly #late = new Map<string, { readonly old: FileHandle; readonly bytes: number }>();

  constructor(folder: string, lock: DatabaseSync, options: FolderOptions) {
    this.path = folder;
    this.#lock = lock;
    this.#write = options.writeFile ?? writeDurably;
  }

  /** Undefined where there is none. Throws `UnavailableError` (`files-unavailable`), `LimitError` (`file-too-large`). */
  read(name: string): Promise<string | undefined> {
    return readIn(this.path, name);
  }

  /** Differs once the file was written anew; empty where there is none. */
  async changeOf(name: string): Promise<string> {
    const found = await stat(path.join(this.path, name), { bigint: true }).catch(() => undefined);
    return found === undefined ? '' : `${found.ino}-${found.size}-${found.mtimeNs}`;
  }

  /** Makes the file what is given, at once; false when it was so already. */
  async write(name: string, text: string): Promise<boolean> {
    if ((await this.read(name)) === text) return false;
    const file = path.join(this.path, name);
    const folder = path.dirname(file);
    this.#partCount += 1;
    const part = path.join(folder, `.${path.basename(name)}.${process.pid}-${this.#partCount}.part`);
    await guarded(this.path, async () => {
      await mkdir(folder, { recursive: true });
      try {
        await this.#write(part, Buffer.from(text));
        await rename(part, file);
        await syncFolder(folder);
      } catch (error) {
        await unlink(part).catch(() => {});
        throw error;
      }
    });
    return true;
  }

  /**
   * Makes the file what `change` makes of it. Others may append to it at the same time: what came in between is read first,
   * and what reaches the old file once it was replaced is added to the new one by the next call.
   */
  async replace(name: string, change: (text: string | undefined) => string): Promise<void> {
    const late = await this.#lateText(name);
    for (;;) {
      const before = await this.read(name);
      const joined = late === '' ? before : `${before ?? ''}${late}`;
      const after = change(joined);
      if (after === (before ?? '')) return;
      const old = before === undefined ? undefined : await open(path.join(this.path, name), 'r');
      if ((await this.read(name)) !== before) {
        await old?.close();
        continue;
      }
      await this.write(name, after);
      if (old !== undefined) this.#late.set(name, { old, bytes: Buffer.byteLength(before ?? '') });
      return;
    }
  }

  /** What was appended to the file that was replaced last. */
  async #lateText(name: string): Promise<string> {
    const late = this.#late.get(name);
    if (late === undefined) return '';
    this.#late.delete(name);
    try {
      const { size } = await late.old.stat();
      if (size <= late.bytes) return '';
      const buffer = Buffer.alloc(size - late.bytes);
      await late.old.read(buffer, 0, buffer.length, late.bytes);
      return buffer.toString('utf8');
    } finally {
      await late.old.close();
    }
  }

  /** Gives the file another name within the folder; what is there already is never overwritten. Returns the name. */
  async move(name: string, to: string): Promise<string> {
    return guarded(this.path, async () => {
      await mkdir(path.dirname(path.join(this.path, to)), { recursive: true });
      for (let nth = 1; ; nth++) {
        const free = nth === 1 ? to : `${to}-${nth}`;
        if (await isThere(path.join(this.path, free))) continue;
        await rename(path.join(this.path, name), path.join(this.path, free));
        return free;
      }
    });
  }

  async close(): Promise<void> {
    for (const { old } of this.#late.values()) await old.close();
    this.#late.clear();
    this.#lock.close();
  }
}

/**
 * Takes the folder for writing; made when absent. The lock is the operating system's, so it goes with its process. Throws
 * `ConfigError` (`files-in-use`, `files-no-folder`), `UnavailableError` (`files-unavailable`).
 */
export async function openFolder(folder: string, options: FolderOptions = {}): Promise<FilesFolder> {
  const full = path.resolve(folder);
  await guarded(full, () => mkdir(full, { recursive: true }));
  const lock = lockFolder(full);
  try {
    // Whoever left these is dead: this process has the lock.
    for (const name of await guarded(full, () => readdir(full, { recursive: true }))) {
      if (PART.test(path.basename(name))) await unlink(path.join(full, name)).catch(() => {});
    }
    return new FilesFolder(full, lock, options);
  } catch (error) {
    lock.close();
    throw error;
  }
}

function lockFolder(folder: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path.join(folder, LOCK), { timeout: 0 });
    // Without a journal file the lock leaves no traces.
    lock.exec('pragma journal_mode = memory; pragma locking_mode = exclusive; begin exclusive');
    return lock;
  } catch (error) {
    lock?.close();
    const { errcode } = error as { readonly errcode?: unknown };
    if (errcode === SQLITE_BUSY) {
      const message = `Another process writes the files in ${folder}; end it first, or name another folder.`;
      throw new ConfigError('files-in-use', message, { folder });
    }
    throw unavailable(folder, 'it can not be written', error);
  }
}

const SQLITE_BUSY = 5;

/** For whoever only reads a folder, and may not write it. */
export async function readIn(folder: string, name: string): Promise<string | undefined> {
  const file = path.join(folder, name);
  return guarded(folder, async () => {
    const size = await stat(file).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (size === undefined) return undefined;
    if (size.size > FILE_MAX_BYTES) {
      const message = `${file} has ${size.size} bytes; at most ${FILE_MAX_BYTES} are read.`;
      throw new LimitError('file-too-large', message, { file });
    }
    return readFile(file, 'utf8');
  });
}

/** A sum to know a text by. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const isThere = (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    () => false,
  );

/** What a person can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EMFILE: 'too many open files',
  EISDIR: 'a folder stands where a file should',
};

async function guarded<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' || code === 'ENOTDIR') {
      throw new ConfigError('files-no-folder', `${folder}: a file stands where a folder should.`, { folder });
    }
    if (code === '') throw error;
    throw unavailable(folder, REASONS[code] ?? code, error);
  }
}

const unavailable = (folder: string, reason: string, cause: unknown): UnavailableError =>
  new UnavailableError('files-unavailable', `The files in ${folder}: ${reason}.`, { folder, cause });
