/** Owns what is written to files so that it outlives the machine's death, reading what is a plain file alone, and the codes of file systems' errors. */

import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { InvalidError, LimitError } from '@tidemark/core';

/** A pipe without a writer would keep whoever opens it waiting. */
const PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Writes a file that isn't there yet, and returns once the disk has its bytes. Throws `EEXIST` when it is there. */
export async function writeDurably(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * For reading. Throws `InvalidError` (`path-linked`, `path-not-plain`: a folder, a pipe, a device) and the file system's errors. `shown`: its name to
 * people.
 */
export async function openPlain(file: string, shown = file): Promise<FileHandle> {
  const handle = await open(file, PLAIN).catch((error: unknown) => {
    throw codeOf(error) === 'ELOOP' ? linkError(shown) : error;
  });
  try {
    if (!(await handle.stat()).isFile()) {
      throw new InvalidError('path-not-plain', `${shown} is no plain file. Move it away.`, { file: shown });
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The whole of a plain file. Throws as `openPlain` does, and `LimitError` (`file-too-large`). */
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

/** Makes one folder, never those above it; returns whether it was not there. Throws `ENOENT` when the one above it is not. */
export async function makeFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
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
