/**
 * Owns what a folder records of itself beside the five files: the run that it shows, what was taken over from outside, and what was last
 * written here. This saves work and distinguishes runs; the keys of what is taken over prevent doubles, and the digests of what was written
 * tell our files from another program's of the same names.
 */

import { ConfigError, keepLast, parseJson } from '@tidemark/core';
import { z } from 'zod';
import { digestOf, type FilesFolder } from './folder.ts';
import { jsonText } from './formats.ts';

/** Hand-overs and keys from outside that the folder records as taken over. */
const TAKEN_MAX_COUNT = 10_000;
/** Files whose last written content the folder records, and the characters of its digest. */
const WRITTEN_MAX_COUNT = 50_000;
const DIGEST_CHARS = 32;

export const FOLDER_STATE = '.tidemark-files.json';
const VERSION = 1;

const schema = z.object({
  version: z.literal(VERSION),
  run: z.string().nullable(),
  taken: z.array(z.string()),
  written: z.record(z.string(), z.string()).default({}),
});

export class FolderState {
  readonly #folder: FilesFolder;
  /** The run of these files. */
  run: string | null;
  readonly #taken: Set<string>;
  /** The digest of each file's last content. */
  readonly #written: Map<string, string>;
  #isSaved = true;

  constructor(folder: FilesFolder, run: string | null, taken: readonly string[], written: object = {}) {
    this.#folder = folder;
    this.run = run;
    this.#taken = new Set(taken);
    this.#written = new Map(Object.entries(written));
  }

  /** The file's content is what was last written here. */
  isWritten(file: string, text: string): boolean {
    return this.#written.get(file) === shortDigest(text);
  }

  /** Kept with the next `saveWritten`: after a crash before that, the content that is written again is the same. */
  wrote(file: string, text: string): void {
    if (this.isWritten(file, text)) return;
    this.#isSaved = false;
    keepLast(this.#written, file, shortDigest(text), WRITTEN_MAX_COUNT);
  }

  async show(run: string): Promise<void> {
    this.run = run;
    await this.save();
  }

  async saveWritten(): Promise<void> {
    if (!this.#isSaved) await this.save();
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
    const written = Object.fromEntries(this.#written);
    await this.#folder.write(
      FOLDER_STATE,
      jsonText({ version: VERSION, run: this.run, taken: [...this.#taken], written }),
    );
    this.#isSaved = true;
  }
}

const shortDigest = (text: string): string => digestOf(text).slice(0, DIGEST_CHARS);

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
  if (!parsed.success) return 'corrupt';
  return new FolderState(folder, parsed.data.run, parsed.data.taken, parsed.data.written);
}
