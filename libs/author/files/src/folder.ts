/**
 * Owns a folder of files that others read at any moment: who may write it (one process), how (a temporary file, then its new name), and
 * what is set aside. Must not know what the files mean.
 *
 * F1 A reader sees a file's old or new content, never half of one.
 * F2 Nothing that somebody else wrote is discarded: before a file is replaced against its writer's will, it is set aside.
 * F3 Nothing outside of the folder is read or written, and no link in it is followed (see folder-root.ts).
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { codeOf } from '@tidemark/blob-fs/durable-files';
import { FolderRoot, refuseLink } from '@tidemark/blob-fs/folder-root';
import { ConfigError, TidemarkError, UnavailableError } from '@tidemark/core';

/** Largest file that is read, in bytes. */
const FILE_MAX_BYTES = 64 * 1024 * 1024;
/** Longest wait for another program's lock of a file, in milliseconds. */
const LOCK_WAIT_MS = 10_000;

/** Replaced files of one name that are watched for late lines; the oldest are let go. */
const LATE_FILES_MAX = 16;
const LINE_END = 0x0a;

const LOCK = '.tidemark-files.lock';
const DRAFTS = '.tidemark-files.drafts';

export interface FolderOptions {
  /** Writes a new file so that it outlives the machine; tests make it fail. */
  readonly writeFile?: ((file: string, bytes: Uint8Array) => Promise<void>) | undefined;
}

export class FilesFolder {
  readonly path: string;
  readonly #root: FolderRoot;
  readonly #lock: DatabaseSync;
  /** Replaced files, still open, and how much of each was read: a program that holds one open goes on appending to it. */
  readonly #late = new Map<string, { readonly old: FileHandle; bytes: number }[]>();

  constructor(root: FolderRoot, lock: DatabaseSync) {
    this.path = root.path;
    this.#root = root;
    this.#lock = lock;
  }

  /**
   * Undefined where there is none. This and the following throw `UnavailableError` (`files-unavailable`), `LimitError` (`file-too-large`),
   * `InvalidError` (`path-linked`, `path-not-plain`, `path-outside`).
   */
  read(name: string): Promise<string | undefined> {
    return textIn(this.#root, name);
  }

  /** Changes when the file is rewritten; empty where there is none. */
  async changeOf(name: string): Promise<string> {
    const found = await guarded(this.path, () => this.#root.stat(name));
    return found === undefined ? '' : `${found.ino}-${found.size}-${found.mtimeNs}`;
  }

  /** Replaces the file's content at once; false when it was the same already. */
  async write(name: string, text: string): Promise<boolean> {
    if ((await this.read(name)) === text) return false;
    await guarded(this.path, () => this.#root.write(name, Buffer.from(text)));
    return true;
  }

  /**
   * Replaces the file's content by the result of `change`, which is undefined where it must stay for now. Others may append to it at the
   * same time: what came in between is read first, and later calls add to the new file whatever still reached an old one.
   */
  async replace(name: string, change: (text: string | undefined) => string | undefined): Promise<void> {
    const late = await this.#lateText(name);
    for (;;) {
      const before = await this.read(name);
      const after = change(late.text === '' ? before : `${before ?? ''}${late.text}`);
      if (after === undefined) return;
      if (after === (before ?? '')) {
        late.taken();
        return;
      }
      const old = before === undefined ? undefined : await this.#root.openFile(name);
      if ((await this.read(name)) !== before) {
        await old?.close();
        continue;
      }
      await this.write(name, after);
      late.taken();
      if (old !== undefined) await this.#watch(name, old, Buffer.byteLength(before ?? ''));
      return;
    }
  }

  /**
   * Replaces the file's content by the result of `change`, which is undefined where it must stay, while nobody else has the file's lock,
   * where its other writers have one: `flock` on `NAME.lock` beside it, as Python's `filelock` and shells take it. What others write
   * without a lock, or with one that comes only now, is read before it is replaced. Returns the result.
   */
  async replaceLocked(
    name: string,
    change: (text: string | undefined) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    for (;;) {
      const lockName = `${name}.lock`;
      const lock = await guarded(this.path, () => this.#root.openFile(lockName));
      try {
        if (lock !== undefined) await flock(lock, path.join(this.path, lockName));
        const before = await this.read(name);
        const after = await change(before);
        if (after === undefined || after === before) return after;
        const isAsBefore = async (): Promise<boolean> =>
          (lock !== undefined || (await this.changeOf(lockName)) === '') && (await this.read(name)) === before;
        if (await guarded(this.path, () => this.#root.write(name, Buffer.from(after), isAsBefore))) return after;
      } finally {
        await lock?.close();
      }
    }
  }

  async #watch(name: string, old: FileHandle, bytes: number): Promise<void> {
    const watched = [...(this.#late.get(name) ?? []), { old, bytes }];
    for (const { old: oldest } of watched.splice(0, watched.length - LATE_FILES_MAX)) await oldest.close();
    this.#late.set(name, watched);
  }

  /** Whole lines that were appended to replaced files; half of one waits for the rest, unless `isLast`. Read again until they are taken. */
  async #lateText(name: string, isLast = false): Promise<{ readonly text: string; taken(): void }> {
    let text = '';
    const read: { readonly late: { bytes: number }; readonly bytes: number }[] = [];
    for (const late of this.#late.get(name) ?? []) {
      const { size } = await late.old.stat();
      if (size <= late.bytes) continue;
      const buffer = Buffer.alloc(Math.min(size - late.bytes, FILE_MAX_BYTES));
      const { bytesRead } = await late.old.read(buffer, 0, buffer.length, late.bytes);
      const whole = buffer.subarray(0, isLast ? bytesRead : buffer.subarray(0, bytesRead).lastIndexOf(LINE_END) + 1);
      text += whole.toString('utf8');
      read.push({ late, bytes: late.bytes + whole.length });
    }
    const taken = (): void => {
      for (const { late, bytes } of read) late.bytes = bytes;
    };
    return { text, taken };
  }

  /** Renames the file within the folder; never overwrites an existing one. Returns the name. */
  move(name: string, to: string): Promise<string> {
    return guarded(this.path, () => this.#root.move(name, to));
  }

  async close(): Promise<void> {
    try {
      for (const name of this.#late.keys()) {
        const { text } = await this.#lateText(name, true);
        if (text !== '') await this.write(name, `${(await this.read(name)) ?? ''}${text}`);
      }
    } finally {
      for (const { old } of [...this.#late.values()].flat()) await old.close();
      this.#late.clear();
      await this.#root.tidy().catch(() => {});
      this.#lock.close();
    }
  }
}

/**
 * Locks the folder for writing; creates it when it is missing. The lock is the operating system's, so it ends with its process. Throws
 * `ConfigError` (`files-in-use`, `files-no-folder`), `UnavailableError` (`files-unavailable`), `InvalidError` (`path-linked`).
 */
export async function openFolder(folder: string, { writeFile }: FolderOptions = {}): Promise<FilesFolder> {
  const full = path.resolve(folder);
  const root = await guarded(full, () => FolderRoot.open(full, { drafts: DRAFTS, writeNew: writeFile, makes: true }));
  if (root === undefined) throw unavailable(full, 'it is gone', undefined);
  // Inspected without opening: closing the file would free the lock of another holder in this process (POSIX).
  await guarded(full, () => refuseLink(path.join(root.path, LOCK)));
  const lock = lockFolder(root.path);
  try {
    // Writers of older drafts are dead: this process has the lock.
    await guarded(full, () => root.tidy());
    return new FilesFolder(root, lock);
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
    throw unavailable(folder, "it can't be written", error);
  }
}

const SQLITE_BUSY = 5;

/** The lock is the open file's, so it stays when the program that took it has ended, and ends with this process. */
async function flock({ fd }: FileHandle, file: string): Promise<void> {
  const taking = spawn('flock', ['-x', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd], timeout: LOCK_WAIT_MS });
  const code = await new Promise<number | null>((resolve) => {
    taking.once('error', () => resolve(-1));
    taking.once('close', resolve);
  });
  const name = path.basename(file);
  if (code === null) throw unavailable(path.dirname(file), `another program holds ${name}`, undefined);
  if (code === 0) return;
  const why = `${name} can't be taken by the program flock (of util-linux): install it, or remove ${name} if nobody uses it`;
  throw unavailable(path.dirname(file), why, undefined);
}

/** For a process that only reads a folder, and may not write it. */
export async function readIn(folder: string, name: string): Promise<string | undefined> {
  const root = await guarded(folder, () => FolderRoot.open(folder, { drafts: DRAFTS, makes: false }));
  return root && textIn(root, name);
}

const textIn = async (root: FolderRoot, name: string): Promise<string | undefined> =>
  (await guarded(root.path, () => root.read(name, FILE_MAX_BYTES)))?.toString('utf8');

/** A digest that identifies a text. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Errors that a person can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EMFILE: 'too many open files',
  EISDIR: 'there is a folder where a file should be',
  EXDEV: 'other file systems are mounted below it',
};

async function guarded<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TidemarkError) throw error;
    const code = codeOf(error);
    if (code === 'EEXIST' || code === 'ENOTDIR') {
      throw new ConfigError('files-no-folder', `${folder}: there is a file where a folder should be.`, { folder });
    }
    if (code === '') throw error;
    throw unavailable(folder, REASONS[code] ?? code, error);
  }
}

const unavailable = (folder: string, reason: string, cause: unknown): UnavailableError =>
  new UnavailableError('files-unavailable', `The files in ${folder}: ${reason}.`, { folder, cause });
