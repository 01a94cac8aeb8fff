// Owns the report's files. Each is whole or absent at any moment: it is written beside its place and renamed. The same report
// gives the same bytes, so writing it again does no harm.

import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

export const MARKDOWN_FILE = 'audit-report.md';
export const JSON_FILE = 'audit-report.json';

export const writtenSchema = z.object({ file: z.string(), bytes: z.number().int(), sha256: z.string() });
export type Written = z.infer<typeof writtenSchema>;

/** Writes both reports into the folder, which is made when it is not there. */
export async function writeReport(folder: string, markdown: string, json: string): Promise<Written[]> {
  await mkdir(folder, { recursive: true });
  return [await write(folder, MARKDOWN_FILE, markdown), await write(folder, JSON_FILE, json)];
}

async function write(folder: string, file: string, text: string): Promise<Written> {
  const bytes = Buffer.from(text);
  const beside = join(folder, `.${file}.tmp`);
  const handle = await open(beside, 'w');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(beside, join(folder, file));
  return { file, bytes: bytes.length, sha256: digest(bytes) };
}

/** True when all files are still as they were written. */
export async function isInPlace(folder: string, written: readonly Written[]): Promise<boolean> {
  try {
    for (const { file, sha256 } of written) if (digest(await readFile(join(folder, file))) !== sha256) return false;
    return true;
  } catch {
    return false;
  }
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
