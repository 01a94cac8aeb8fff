/**
 * Owns what a folder records of itself beside the five files: the run that it shows, and what was taken over from outside. This saves work
 * and distinguishes runs; the keys of what is taken over prevent doubles.
 */

import { ConfigError, parseJson } from '@tidemark/core';
import { z } from 'zod';
import type { FilesFolder } from './folder.ts';
import { jsonText } from './formats.ts';
import { TAKEN_MAX_COUNT } from './limits.ts';

export const FOLDER_STATE = '.tidemark-files.json';
const VERSION = 1;

const schema = z.object({ version: z.literal(VERSION), run: z.string().nullable(), taken: z.array(z.string()) });

export class FolderState {
  readonly #folder: FilesFolder;
  /** The run of these files. */
  run: string | null;
  readonly #taken: Set<string>;

  constructor(folder: FilesFolder, run: string | null, taken: readonly string[]) {
    this.#folder = folder;
    this.run = run;
    this.#taken = new Set(taken);
  }

  has(mark: string): boolean {
    return this.#taken.has(mark);
  }

  async take(...marks: readonly string[]): Promise<void> {
    const fresh = marks.filter((mark) => !this.#taken.has(mark));
    if (fresh.length === 0) return;
    for (const mark of fresh) this.#taken.add(mark);
    for (const oldest of this.#taken) {
      if (this.#taken.size <= TAKEN_MAX_COUNT) break;
      this.#taken.delete(oldest);
    }
    await this.save();
  }

  async save(): Promise<void> {
    await this.#folder.write(FOLDER_STATE, jsonText({ version: VERSION, run: this.run, taken: [...this.#taken] }));
  }
}

/** Undefined for an unreadable one. Throws `ConfigError` (`files-newer`). */
export async function loadState(folder: FilesFolder): Promise<FolderState | 'corrupt'> {
  const text = await folder.read(FOLDER_STATE);
  if (text === undefined) return new FolderState(folder, null, []);
  let json: unknown;
  try {
    json = parseJson(text, FOLDER_STATE);
  } catch {
    return 'corrupt';
  }
  const version = z.object({ version: z.number() }).safeParse(json).data?.version;
  if (version !== undefined && version > VERSION) {
    const message = `The files in ${folder.path} were written by a newer version of Tidemark (form ${version}); use that one. Nothing was changed.`;
    throw new ConfigError('files-newer', message, { folder: folder.path, version });
  }
  const parsed = schema.safeParse(json);
  return parsed.success ? new FolderState(folder, parsed.data.run, parsed.data.taken) : 'corrupt';
}
