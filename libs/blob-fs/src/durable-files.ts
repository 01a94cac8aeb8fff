/** Owns what is written to files so that it outlives the machine's death, and the codes of file systems' errors. */

import { mkdir, open } from 'node:fs/promises';

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
