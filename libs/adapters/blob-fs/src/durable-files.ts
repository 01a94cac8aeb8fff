/** Owns writing files so that they outlive the machine's death, reading plain files alone, and the codes of file systems' errors. */

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { InvalidError, LimitError } from '@tidemark/core';

/** Opening a pipe without a writer would block. */
const PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Writes a new file, and returns once the disk has its bytes. `mode`: as the process makes files by default. Throws `EEXIST` when it exists. */
export async function writeDurably(file: string, bytes: Uint8Array, mode?: number): Promise<void> {
  const handle = await open(file, 'wx', mode);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Opens a file for reading. Throws `InvalidError` (`path-linked`, `path-not-plain`: a folder, a pipe, a device) and the file system's
 * errors. `shown`: its name in errors.
 */
export async function openPlain(file: string, shown = file): Promise<FileHandle> {
  const handle = await open(file, PLAIN).catch((error: unknown) => {
    throw codeOf(error) === 'ELOOP' ? linkError(shown) : error;
  });
  try {
    if (!(await handle.stat()).isFile()) {
      throw new InvalidError('path-not-plain', `${shown} is not a regular file. Move it elsewhere.`, { file: shown });
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads the whole of a plain file. Throws as `openPlain` does, and `LimitError` (`file-too-large`). */
export async function readPlain(file: string, maxBytes: number, shown = file): Promise<Buffer> {
  const handle = await openPlain(file, shown);
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) {
      const message = `${shown} has ${size} bytes; at most ${maxBytes} are read.`;
      throw new LimitError('file-too-large', message, { file: shown });
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

export const linkError = (file: string): InvalidError =>
  new InvalidError(
    'path-linked',
    `${file} is a symbolic link, which could lead anywhere, so it is not followed. Name the place that is meant, or put a plain file or folder there.`,
    { file },
  );

/** Returns once the disk has the folder's list of names. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates one folder, never those above it; returns whether it was missing. Throws `ENOENT` when the one above it is missing. */
export async function makeFolder(folder: string, mode?: number): Promise<boolean> {
  try {
    await mkdir(folder, mode);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    return false;
  }
}

/** The code of a file system's error, such as `ENOENT`; empty for any other. */
export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
