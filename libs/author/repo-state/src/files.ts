/**
 * Owns what state needs of a file system, as a port that tests can make fail, and the meaning of its errors. A file is replaced whole or
 * not at all: readers see the old one or the new one (I: no torn state), and once `replaceFile` returns the disk has it.
 */

import { randomUUID } from 'node:crypto';
import { access, constants, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, readPlain, syncFolder, writeDurably } from '@tidemark/blob-fs/durable-files';
import { InvalidError, LimitError, UnavailableError } from '@tidemark/core';
import { STATE_MAX_BYTES } from './limits.ts';

export type FileKind = 'absent' | 'file' | 'folder' | 'link' | 'other';

/** Errors carry the system's codes (`ENOENT`, `EROFS`, `ENOSPC`, …). */
export interface StateFiles {
  /** Does not follow links. */
  stat(file: string): Promise<{
    readonly kind: FileKind;
    readonly sizeBytes: number;
    readonly changedMs: number;
    readonly owner: number;
    /** Permissions, `0o700`. */
    readonly mode: number;
  }>;
  /** Whether the file, or its nearest parent folder that exists, may be written. Changes nothing. */
  canWrite(file: string): Promise<boolean>;
  /** Reads a plain file of a state's size; follows no link. */
  read(file: string): Promise<Uint8Array>;
  list(folder: string): Promise<readonly string[]>;
  /** Creates the folder and its parents; if `secluded`, only the owner may read it. */
  makeFolder(folder: string, secluded: boolean): Promise<void>;
  /** Throws `EEXIST` when it exists. Durable once it resolves. */
  writeNew(file: string, bytes: Uint8Array): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** No error when it is missing. */
  remove(file: string): Promise<void>;
  sync(folder: string): Promise<void>;
}

const ABSENT = { kind: 'absent', sizeBytes: 0, changedMs: 0, owner: -1, mode: 0 } as const;

export const nodeFiles: StateFiles = {
  async stat(file) {
    try {
      const found = await lstat(file);
      const kind = found.isSymbolicLink() ? 'link' : found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other';
      return { kind, sizeBytes: found.size, changedMs: found.mtimeMs, owner: found.uid, mode: found.mode };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return ABSENT;
      throw error;
    }
  },
  async canWrite(file) {
    try {
      await access(file, constants.W_OK);
      return true;
    } catch (error) {
      const above = path.dirname(file);
      return codeOf(error) === 'ENOENT' && above !== file && this.canWrite(above);
    }
  },
  // Files written by hand may be somewhat larger than ours.
  read: (file) => readPlain(file, 4 * STATE_MAX_BYTES),
  async list(folder) {
    try {
      return (await readdir(folder)).sort();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  },
  makeFolder: async (folder, secluded) =>
    void (await mkdir(folder, { recursive: true, mode: secluded ? 0o700 : 0o777 })),
  writeNew: writeDurably,
  rename,
  remove: (file) => rm(file, { force: true }),
  sync: syncFolder,
};

/** Undefined: it is missing. Throws `InvalidError` for anything but a plain file of a state's size. */
export async function readIfThere(
  files: StateFiles,
  file: string,
): Promise<{ readonly bytes: Uint8Array; readonly changedMs: number } | undefined> {
  const { kind, changedMs } = await files.stat(file);
  if (kind === 'absent') return undefined;
  if (kind === 'link') throw linkError(file);
  if (kind !== 'file')
    throw new InvalidError('state-foreign', `${file} is not a regular file. Move it elsewhere.`, { file });
  try {
    return { bytes: await files.read(file), changedMs };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (!(error instanceof LimitError)) throw error;
    throw new InvalidError('state-foreign', `${error.message} That is too large for a state. Move it elsewhere.`, {
      file,
    });
  }
}

export const linkError = (file: string): InvalidError =>
  new InvalidError(
    'state-link',
    `${file} is a symbolic link, which could lead anywhere, so it is not followed. Name the place that is meant with --dir.`,
    { file },
  );

/** Name of a file until it is complete. */
const temporaryName = (file: string): string => `${file}.${randomUUID()}.tmp`;
const TEMPORARY = /\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/;

/** Whether a writer of the file may have given that name to its draft. */
export const isTemporary = (name: string, file: string): boolean =>
  name.startsWith(file) && TEMPORARY.exec(name)?.index === file.length;

/** Throws the file system's error if the file's folder can't be written. */
export async function tryToWrite(files: StateFiles, file: string): Promise<void> {
  const probe = temporaryName(file);
  await files.writeNew(probe, new Uint8Array()).finally(() => files.remove(probe).catch(() => {}));
}

/** Leaves the whole new content, or the old one. Throws the file system's errors, and then removes its draft. */
export async function replaceFile(files: StateFiles, file: string, bytes: Uint8Array): Promise<void> {
  const temporary = temporaryName(file);
  try {
    await files.writeNew(temporary, bytes);
    await files.rename(temporary, file);
  } catch (error) {
    await files.remove(temporary).catch(() => {});
    throw error;
  }
  await files.sync(path.dirname(file));
}

/** Writes under the first of these names that is free, and returns it: `x.json`, `x-2.json`, … Overwrites nothing. */
export async function writeBeside(
  files: StateFiles,
  folder: string,
  stem: string,
  ending: string,
  bytes: Uint8Array,
): Promise<string> {
  for (let count = 1; ; count += 1) {
    const name = `${stem}${count === 1 ? '' : `-${count}`}${ending}`;
    const file = path.join(folder, name);
    try {
      await files.writeNew(file, bytes);
      await files.sync(folder);
      return name;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') {
        await files.remove(file).catch(() => {});
        throw error;
      }
      // A link or a pipe was made by somebody else, like a file with other content.
      const there = await readIfThere(files, file).catch(() => undefined);
      if (there !== undefined && Buffer.compare(there.bytes, bytes) === 0) return name;
    }
  }
}

export const isReadOnly = (error: unknown): boolean => ['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error));

/** Translates a file system's error by what the caller can do about it. */
export function asStateError(error: unknown, place: string): unknown {
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new UnavailableError(
      'disk-full',
      `The disk of ${place} is full. Nothing was changed; the state there is whole.`,
      {
        cause: error,
      },
    );
  }
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EEXIST') {
    return new InvalidError('place-invalid', `${place} can't be used: a folder on its way is missing, or is a file.`, {
      cause: error,
    });
  }
  if (isReadOnly(error)) {
    return new UnavailableError('place-read-only', `${place} can't be written, and no other place could be used.`, {
      cause: error,
    });
  }
  return error;
}
