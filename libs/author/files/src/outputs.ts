/**
 * Owns which output a step's entry in the files has: a path, whose file is read and compared with its checksum, or the output itself. A
 * path to a missing file, or to one with another checksum, counts as no output: the step runs again, which is reported.
 */

import { createHash } from 'node:crypto';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { isNameWithin } from '@tidemark/blob-fs/folder-root';
import { InvalidError, type Json, LimitError, parseJson } from '@tidemark/core';
import { checksumOf } from '@tidemark/sdk';
import { type FilesFolder, readIn } from './folder.ts';
import type { DedupeEntry } from './formats.ts';

/** The text of the file at a path; undefined: it is missing. Throws `InvalidError` (`path-outside` and the folder's own). */
export type ReadOutput = (file: string) => Promise<string | undefined>;

export interface Made {
  readonly output: Json;
  readonly checksum: string;
}

/** Paths are relative to the folder; one that leads out of it is read where a folder of `outside` contains it. */
export function readWithin(from: Pick<FilesFolder, 'path' | 'read'>, outside: readonly string[] = []): ReadOutput {
  const { path: folder } = from;
  return async (file) => {
    const own = nameIn(folder, folder, file);
    if (own !== undefined) return from.read(own);
    for (const root of outside) {
      const name = nameIn(root, folder, file);
      if (name !== undefined) return readIn(root, name);
    }
    throw new InvalidError('path-outside', `${JSON.stringify(file.slice(0, 200))} lies outside of ${folder}.`, {
      folder,
    });
  };
}

/** Undefined: the file lies elsewhere. */
function nameIn(root: string, folder: string, file: string): string | undefined {
  const name = path.relative(root, path.resolve(folder, file)).replaceAll(path.sep, '/');
  return isNameWithin(name) ? name : undefined;
}

/** The output of the entry, or why there is none. */
export async function resolveOutput(
  { output = null, checksum }: DedupeEntry,
  read: ReadOutput,
): Promise<Made | string> {
  const [given, own] = [sumIn(checksum), checksumOf(output as Json)];
  if (typeof output === 'string' && given !== own) {
    if (namesFile(output)) return resolveFile(output, checksum, read);
    // A path without an ending is recognised by its file alone.
    const made = output !== '' && isNameWithin(output) ? await fromFile(output, given, read) : undefined;
    if (made !== undefined) return made;
  }
  if (/^[0-9a-f]{64}$/.test(given) && given !== own) return 'its checksum is not that of its output.';
  return { output: output as Json, checksum: own };
}

/** The content of the file at that path, or why it can't be used. */
export const resolveFile = async (
  file: string,
  checksum: string | null | undefined,
  read: ReadOutput,
): Promise<Made | string> => (await fromFile(file, sumIn(checksum), read)) ?? `its output ${file} isn't there.`;

const sumIn = (checksum: string | null | undefined): string => checksum?.replace(/^sha256:/, '').toLowerCase() ?? '';

/** Undefined: it is missing. */
async function fromFile(file: string, given: string, read: ReadOutput): Promise<Made | string | undefined> {
  let output: Json;
  let text: string | undefined;
  try {
    text = await read(file);
    if (text === undefined) return undefined;
    output = file.endsWith('.json') ? parseJson(text, `its output ${file}`) : text;
  } catch (error) {
    // The entry's text names no value of the file.
    if (error instanceof InvalidError || error instanceof LimitError)
      return `its output can't be read: ${error.message}`;
    throw error;
  }
  const own = checksumOf(output);
  const fits = !SUM.test(given) || given === own || sumsOf(text).some((sum) => sum.startsWith(given));
  return fits ? { output, checksum: own } : 'its checksum is not that of its output.';
}

/** Whether it looks like a checksum; any other text is left to its writer. */
const SUM = /^[0-9a-f]{8,128}$/;

/** The checksums that scripts write, whole or their first digits. */
const sumsOf = (text: string): readonly string[] => [
  ...['sha256', 'sha1', 'md5', 'sha512'].map((name) => createHash(name).update(text).digest('hex')),
  crc32(text).toString(16).padStart(8, '0'),
];

/** Whether a text can only be meant as a path: from a root, from `.` or `..`, or of plain names with an ending. */
const namesFile = (text: string): boolean =>
  /^(?:\/|\.{1,2}\/|[A-Za-z]:[\\/])\S|^[\w.~-]+(?:\/[\w.~-]+)*\.[A-Za-z][A-Za-z0-9]{0,9}$/.test(text) &&
  !/[\n\r\0]/.test(text);
