// Owns what an audit takes from a tree before it reads any source: pages of paths in code point order, the package manifests
// among them, and what is left out. A page is small enough for a checkpoint, and the next one goes on behind it, so that no
// list of the whole tree is ever held. Must not read source text, or report an absolute path.
// Only a root that is no readable folder is a refusal.

import { createHash } from 'node:crypto';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { z } from 'zod';
import { type Entry, type WalkOptions, walk } from './facts/walk.ts';
import { MAX_FILES, MAX_PACKAGE_FACTS_BYTES, MAX_PAGE_BYTES, MAX_PAGE_FILES, MAX_SKIPPED_RECORDS } from './limits.ts';
import { joinPackages, packageFactsSchema, readManifestFacts } from './packages.ts';

export const skippedSchema = z.object({
  path: z.string(),
  reason: z.enum(['too-large', 'unreadable', 'not-a-regular-file']),
  bytes: z.number().int().optional(),
});

/** What one page says besides the paths of its files. */
export const pageFactsSchema = z.object({
  packages: z.array(packageFactsSchema),
  skipped: z.array(skippedSchema),
  symlinks: z.number().int(),
  /** Source files beyond MAX_FILES; only the last page has some. */
  filesCut: z.number().int(),
});

export type Skipped = z.infer<typeof skippedSchema>;
export type PageFacts = z.infer<typeof pageFactsSchema>;
/** `next`: where the following page begins; null after the last. */
export type Page = { files: string[]; facts: PageFacts; next: string | null };

/** All that the merge needs to know of a tree besides its files' facts. */
export type Discovery = Omit<PageFacts, 'skipped'> & {
  /** The root's own name, for titles. */
  label: string;
  skipped: Skipped[];
  /** Skipped entries beyond the records above. */
  skippedCut: number;
};

export type Root = { ok: true; path: string; label: string } | { ok: false; reason: string };
export type PageOptions = WalkOptions & {
  /** Files that earlier pages had. */
  found?: number;
  /** Default MAX_FILES. */
  maxFiles?: number;
  /** Default MAX_PAGE_FILES. */
  maxPageFiles?: number;
};

/** The folder to audit, without symbolic links. `root` may be relative to the working folder. */
export async function openRoot(root: string): Promise<Root> {
  try {
    const path = await realpath(resolve(root));
    if (!(await stat(path)).isDirectory()) return { ok: false, reason: `${root} is not a folder` };
    await readdir(path);
    return { ok: true, path, label: basename(path) || 'root' };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { ok: false, reason: `${root} cannot be read (${code})` };
  }
}

/** The page that begins behind `after` (null: at the start). Rejects when the root itself cannot be read. */
export async function discoverPage(root: string, after: string | null, options: PageOptions = {}): Promise<Page> {
  const page = new PageDraft(root, options);
  for await (const entry of walk(root, after, options)) {
    await page.add(entry);
    if (page.isFull) return page.end(entry.at);
  }
  return page.end(null);
}

class PageDraft {
  readonly #root: string;
  readonly #files: string[] = [];
  readonly #facts: PageFacts = { packages: [], skipped: [], symlinks: 0, filesCut: 0 };
  readonly #room: number;
  readonly #maxPageFiles: number;
  #bytes = 0;

  constructor(root: string, options: PageOptions) {
    this.#root = root;
    this.#room = (options.maxFiles ?? MAX_FILES) - (options.found ?? 0);
    this.#maxPageFiles = options.maxPageFiles ?? MAX_PAGE_FILES;
  }

  /** Once files are cut the page goes through the rest of the tree, so that what is lost is counted. */
  get isFull(): boolean {
    if (this.#facts.filesCut > 0) return false;
    return this.#files.length >= this.#maxPageFiles || this.#bytes >= MAX_PAGE_BYTES;
  }

  end(next: string | null): Page {
    return { files: this.#files, facts: this.#facts, next };
  }

  async add(entry: Entry): Promise<void> {
    const { kind, path } = entry;
    if (this.#facts.filesCut > 0 && kind !== 'source') return;
    if (kind === 'symlink') this.#facts.symlinks++;
    else if (kind === 'source' && this.#files.length >= this.#room) this.#facts.filesCut++;
    else if (kind === 'source') {
      this.#files.push(path);
      this.#bytes += jsonBytes(path);
    } else if (kind === 'skipped') {
      this.#skip({ path, reason: entry.reason, ...(entry.bytes === undefined ? {} : { bytes: entry.bytes }) });
    } else await this.#manifest(path, entry.bytes);
  }

  async #manifest(path: string, bytes: number): Promise<void> {
    const facts = await readManifestFacts(this.#root, path);
    if (facts === undefined) return;
    const size = jsonBytes(facts);
    if (size > MAX_PACKAGE_FACTS_BYTES) return this.#skip({ path, reason: 'too-large', bytes });
    this.#facts.packages.push(facts);
    this.#bytes += size;
  }

  #skip(skipped: Skipped): void {
    this.#facts.skipped.push(skipped);
    this.#bytes += jsonBytes(skipped);
  }
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** What all pages of a tree say together. */
export function joinPages(label: string, pages: readonly PageFacts[]): Discovery {
  const skipped = pages.flatMap((page) => page.skipped);
  const sum = (value: (page: PageFacts) => number) => pages.reduce((total, page) => total + value(page), 0);
  return {
    label,
    packages: joinPackages(pages.flatMap((page) => page.packages)),
    skipped: skipped.slice(0, MAX_SKIPPED_RECORDS),
    skippedCut: Math.max(0, skipped.length - MAX_SKIPPED_RECORDS),
    filesCut: sum((page) => page.filesCut),
    symlinks: sum((page) => page.symlinks),
  };
}

/** A quick look at the tree: how many files an audit would read, and a digest that changes when paths, sizes or times do. */
export async function survey(root: string, options: PageOptions = {}): Promise<{ files: number; digest: string }> {
  const hash = createHash('sha256');
  let files = 0;
  for await (const entry of walk(root, null, options)) {
    const { kind, path } = entry;
    if (kind === 'source') files++;
    const size = 'bytes' in entry ? entry.bytes : '';
    hash.update(`${kind} ${JSON.stringify(path)} ${size} ${'modifiedMs' in entry ? entry.modifiedMs : ''}\n`);
  }
  return { files: Math.min(files, options.maxFiles ?? MAX_FILES), digest: hash.digest('hex') };
}
