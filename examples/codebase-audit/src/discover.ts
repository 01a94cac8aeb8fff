// Owns the walk over the audited tree: which files there are, in code point order of their paths, and the package manifests
// beside them. Must not follow symbolic links, read source text, or report an absolute path.
// What cannot be read is a record, never a failure; only a root that is no readable folder is a refusal.

import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { z } from 'zod';
import { MAX_FILE_BYTES, MAX_FILES, MAX_SKIPPED_RECORDS } from './limits.ts';
import { compareBy, compareText } from './order.ts';
import { packageFactsSchema, readPackages } from './packages.ts';
import { isSourceFile } from './paths.ts';

/** Folders left out wherever they occur; `node_modules` is read when the root is one or lies inside one. */
export const SKIPPED_FOLDERS = ['.git', 'node_modules'] as const;

export const skippedSchema = z.object({
  path: z.string(),
  reason: z.enum(['too-large', 'unreadable', 'not-a-regular-file']),
  bytes: z.number().int().optional(),
});

export const discoverySchema = z.object({
  /** The root's own name, for titles. */
  label: z.string(),
  files: z.array(z.object({ path: z.string(), bytes: z.number().int() })),
  packages: z.array(packageFactsSchema),
  skipped: z.array(skippedSchema),
  /** Skipped entries beyond the records above, and source files beyond MAX_FILES. */
  skippedCut: z.number().int(),
  filesCut: z.number().int(),
  symlinks: z.number().int(),
  folders: z.number().int(),
});

export type Skipped = z.infer<typeof skippedSchema>;
export type Discovery = z.infer<typeof discoverySchema>;
export type DiscoverResult = { ok: true; discovery: Discovery } | { ok: false; reason: string };
export type DiscoverOptions = {
  /** Further folder names to leave out (a state folder, a build folder). */
  skipFolders?: readonly string[];
  /** Default MAX_FILE_BYTES. */
  maxFileBytes?: number;
  /** Default MAX_FILES. */
  maxFiles?: number;
};

/** Lists the source files below a folder. `root` may be relative to the working folder and may itself be a symbolic link. */
export async function discover(root: string, options: DiscoverOptions = {}): Promise<DiscoverResult> {
  const opened = await openRoot(root);
  if (!opened.ok) return opened;
  const walker = new TreeWalk(opened.path, options);
  await walker.run();

  const maxFiles = options.maxFiles ?? MAX_FILES;
  const files = walker.files.sort(compareBy((file) => file.path));
  const skipped = walker.skipped.sort(compareBy((entry) => entry.path));
  return {
    ok: true,
    discovery: {
      label: basename(opened.path) || 'root',
      files: files.slice(0, maxFiles),
      packages: await readPackages(opened.path, walker.manifests.sort(compareText)),
      skipped: skipped.slice(0, MAX_SKIPPED_RECORDS),
      skippedCut: Math.max(0, skipped.length - MAX_SKIPPED_RECORDS),
      filesCut: Math.max(0, files.length - maxFiles),
      symlinks: walker.symlinks,
      folders: walker.folders,
    },
  };
}

async function openRoot(root: string): Promise<{ ok: true; path: string } | { ok: false; reason: string }> {
  try {
    const path = await realpath(resolve(root));
    if (!(await stat(path)).isDirectory()) return { ok: false, reason: `${root} is not a folder` };
    await readdir(path);
    return { ok: true, path };
  } catch (error) {
    return { ok: false, reason: `${root} cannot be read (${errorCode(error)})` };
  }
}

class TreeWalk {
  readonly files: { path: string; bytes: number }[] = [];
  readonly skipped: Skipped[] = [];
  /** Relative paths of package.json, tsconfig.json and jsconfig.json. */
  readonly manifests: string[] = [];
  symlinks = 0;
  folders = 0;
  readonly #root: string;
  readonly #skip: ReadonlySet<string>;
  readonly #maxFileBytes: number;

  constructor(root: string, options: DiscoverOptions) {
    this.#root = root;
    this.#maxFileBytes = options.maxFileBytes ?? MAX_FILE_BYTES;
    const inNodeModules = root.split(sep).includes('node_modules');
    const standing = SKIPPED_FOLDERS.filter((name) => !(inNodeModules && name === 'node_modules'));
    this.#skip = new Set([...standing, ...(options.skipFolders ?? [])]);
  }

  async run(): Promise<void> {
    const pending = [''];
    while (pending.length > 0) {
      const folder = pending.pop()!;
      this.folders++;
      const sourceFiles: string[] = [];
      for (const entry of await this.#entries(folder)) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (entry.isSymbolicLink()) this.symlinks++;
        else if (entry.isDirectory()) {
          if (!this.#skip.has(entry.name)) pending.push(path);
        } else if (!entry.isFile()) {
          if (isSourceFile(entry.name)) this.skipped.push({ path, reason: 'not-a-regular-file' });
        } else if (isSourceFile(entry.name)) sourceFiles.push(path);
        else if (isManifest(entry.name)) this.manifests.push(path);
      }
      await Promise.all(sourceFiles.map((path) => this.#measure(path)));
    }
  }

  async #entries(folder: string): Promise<Dirent[]> {
    try {
      return await readdir(join(this.#root, folder), { withFileTypes: true });
    } catch {
      this.skipped.push({ path: folder, reason: 'unreadable' });
      return [];
    }
  }

  async #measure(path: string): Promise<void> {
    try {
      const { size } = await lstat(join(this.#root, path));
      if (size > this.#maxFileBytes) this.skipped.push({ path, reason: 'too-large', bytes: size });
      else this.files.push({ path, bytes: size });
    } catch {
      this.skipped.push({ path, reason: 'unreadable' });
    }
  }
}

function isManifest(name: string): boolean {
  return name === 'package.json' || name === 'tsconfig.json' || name === 'jsconfig.json';
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
