/** Owns searching the bytes of files for a text in any form: as it is, as UTF-16, in base64, in hexadecimal. Must not know what stores are. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** A text, or bytes. */
export type Mark = string | Uint8Array;

/** The letters that the mark alone decides, wherever it begins within a group of three bytes. */
const base64Forms = (bytes: Buffer): readonly Buffer[] =>
  [0, 1, 2].map((before) => {
    const letters = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    return Buffer.from(letters.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3)));
  });

function formsOf(mark: Mark): readonly Buffer[] {
  const bytes = Buffer.from(mark as string);
  const wide = typeof mark === 'string' ? [Buffer.from(mark, 'utf16le')] : [];
  return [bytes, ...wide, Buffer.from(bytes.toString('hex')), ...base64Forms(bytes)];
}

export const holdsMark = (bytes: Buffer, mark: Mark): boolean => formsOf(mark).some((form) => bytes.includes(form));

/** Files below the folder that hold marks, by path in it, with `/`; those that vanish meanwhile hold none. */
export async function filesWithMarkers(
  folder: string,
  marks: readonly Mark[],
): Promise<ReadonlyMap<Mark, readonly string[]>> {
  const all = marks.map((mark) => ({ mark, forms: formsOf(mark) }));
  const found = new Map<Mark, string[]>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
    for (const { mark, forms } of all) {
      if (!forms.some((form) => bytes.includes(form))) continue;
      found.set(mark, [...(found.get(mark) ?? []), path.relative(folder, file).replaceAll(path.sep, '/')]);
    }
  }
  return found;
}
