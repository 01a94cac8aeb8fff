// Owns the walk over the audited tree: its entries in code point order of their whole paths, from any place on, so that a walk
// can be taken up where another process left off. Must not follow symbolic links or read what files hold.
// What cannot be read is an entry, never a failure.

import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { MAX_FILE_BYTES } from '../limits.ts';
import { compareText } from '../order.ts';
import { isSourceFile } from '../paths.ts';

/**
 * Folders left out wherever they occur. `node_modules`, and the build output in `dist`, are read when the root is or lies inside a
 * `node_modules`: what a package publishes is its build. `dist` is also read when the root is or lies inside one.
 */
const SKIPPED_FOLDERS = ['.git', 'node_modules', 'dist'] as const;
/** Entries whose sizes are asked for at once. */
const MEASURED_AT_ONCE = 64;

export type WalkOptions = {
  /** Folders to leave out, relative to the root (a state folder). */
  skipPaths?: readonly string[];
  /** Default MAX_FILE_BYTES. */
  maxFileBytes?: number;
};

export type SkipReason = 'too-large' | 'unreadable' | 'not-a-regular-file';
type Found =
  | { kind: 'source' | 'manifest'; bytes: number; modifiedMs: number }
  | { kind: 'skipped'; reason: SkipReason; bytes?: number }
  | { kind: 'symlink' };
/** `at`: the entry's place in the order of the walk, from which another walk goes on. */
export type Entry = Found & { path: string; at: string };

type Listed = { name: string; at: string; dirent: Dirent };
type Frame = { listed: Listed[]; next: number; measured: Map<string, Found> };

/** Entries of the tree whose place comes after `after`. `root` is absolute and without symbolic links. */
export async function* walk(root: string, after: string | null, options: WalkOptions = {}): AsyncGenerator<Entry> {
  const walker = new Walker(root, after, options);
  for (;;) {
    const entry = await walker.step();
    if (entry === 'end') return;
    if (entry !== undefined) yield entry;
  }
}

class Walker {
  readonly #root: string;
  readonly #after: string | null;
  readonly #skipNames: ReadonlySet<string>;
  readonly #skipPaths: ReadonlySet<string>;
  readonly #maxFileBytes: number;
  #stack: Frame[] | undefined;

  constructor(root: string, after: string | null, options: WalkOptions) {
    this.#root = root;
    this.#after = after;
    this.#maxFileBytes = options.maxFileBytes ?? MAX_FILE_BYTES;
    const above = new Set(root.split(sep));
    const isRead = (name: string): boolean => name !== '.git' && (above.has('node_modules') || above.has(name));
    this.#skipNames = new Set(SKIPPED_FOLDERS.filter((name) => !isRead(name)));
    this.#skipPaths = new Set(options.skipPaths ?? []);
  }

  /** One step: an entry, nothing to tell, or the end. */
  async step(): Promise<Entry | 'end' | undefined> {
    this.#stack ??= [{ listed: await this.#list(''), next: 0, measured: new Map() }];
    const frame = this.#stack.at(-1);
    if (frame === undefined) return 'end';
    const listed = frame.listed[frame.next];
    if (listed === undefined) {
      this.#stack.pop();
      return undefined;
    }
    frame.next++;
    if (listed.dirent.isDirectory()) return this.#descend(listed);
    const found = await this.#classify(frame, listed);
    return found === undefined ? undefined : { ...found, path: listed.at, at: listed.at };
  }

  async #descend({ name, at }: Listed): Promise<Entry | undefined> {
    const path = at.slice(0, -1);
    if (this.#skipNames.has(name) || this.#skipPaths.has(path)) return undefined;
    try {
      this.#stack!.push({ listed: await this.#list(at), next: 0, measured: new Map() });
      return undefined;
    } catch {
      return { kind: 'skipped', reason: 'unreadable', path, at };
    }
  }

  /** What lies in the folder `prefix` (empty, or ending in a slash), in order; what the walk has passed is left out. */
  async #list(prefix: string): Promise<Listed[]> {
    const entries = await readdir(join(this.#root, prefix), { withFileTypes: true });
    const listed = entries.map((dirent) => ({
      name: dirent.name,
      at: `${prefix}${dirent.name}${dirent.isDirectory() ? '/' : ''}`,
      dirent,
    }));
    return listed.filter(({ at }) => this.#lies(at)).sort((a, b) => compareText(a.at, b.at));
  }

  /** True for what comes after the place where the walk begins, and for the folders on the way to it. */
  #lies(at: string): boolean {
    const after = this.#after;
    if (after === null || compareText(at, after) > 0) return true;
    return at.endsWith('/') && at !== after && after.startsWith(at);
  }

  async #classify(frame: Frame, { name, at, dirent }: Listed): Promise<Found | undefined> {
    if (dirent.isSymbolicLink()) return { kind: 'symlink' };
    if (!isWanted(name)) return undefined;
    if (!dirent.isFile()) return isSourceFile(name) ? { kind: 'skipped', reason: 'not-a-regular-file' } : undefined;
    if (!frame.measured.has(at)) await this.#measureAhead(frame);
    const found = frame.measured.get(at);
    frame.measured.delete(at);
    return found;
  }

  async #measureAhead(frame: Frame): Promise<void> {
    const ahead = frame.listed
      .slice(frame.next - 1, frame.next - 1 + MEASURED_AT_ONCE)
      .filter(({ name, dirent }) => dirent.isFile() && isWanted(name));
    const found = await Promise.all(ahead.map((listed) => this.#measure(listed)));
    for (const [index, listed] of ahead.entries()) frame.measured.set(listed.at, found[index]!);
  }

  async #measure({ name, at }: Listed): Promise<Found> {
    try {
      const { size, mtimeMs } = await lstat(join(this.#root, at));
      if (!isSourceFile(name)) return { kind: 'manifest', bytes: size, modifiedMs: mtimeMs };
      if (size > this.#maxFileBytes) return { kind: 'skipped', reason: 'too-large', bytes: size };
      return { kind: 'source', bytes: size, modifiedMs: mtimeMs };
    } catch {
      return { kind: 'skipped', reason: 'unreadable' };
    }
  }
}

function isWanted(name: string): boolean {
  return isSourceFile(name) || name === 'package.json' || name === 'tsconfig.json' || name === 'jsconfig.json';
}
