/**
 * Owns the name of the build that a worker runs: what the deployer calls it, with a digest of the code of its workflows. The code is what their
 * modules import, by relative paths and from packages that are no one else's (outside of `node_modules`), with the lock file of what
 * they install. What they read otherwise (a prompt, a binary) is not in it: then the deployer's name distinguishes builds.
 */

import { createHash, hash } from 'node:crypto';
import { existsSync, globSync, realpathSync, watch } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { createRequire, findPackageJSON } from 'node:module';
import path from 'node:path';
import type { Definition } from '@tidemark/runtime';
import { moduleOf } from './load-definitions.ts';

/** Most files whose imports are followed. What only further files import doesn't count. */
const SOURCE_FILES_MAX_COUNT = 5_000;
/** Hexadecimal digits of the digest. */
const DIGEST_CHARS = 16;
/** Finds the specifiers of imports and re-exports. Matches in comments and texts count as well, which does no harm. */
const IMPORT = /\b(?:from|import|require)\s{0,20}\(?\s{0,20}(['"])([^'"\n]{1,1000})\1/g;
const CODE = /\.[cm]?[jt]sx?$/;
const LOCKS = ['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock', 'bun.lock'];

/**
 * The same for the same code, wherever it lies. Undefined where no definition resumes by itself on a new build, and no name is given.
 * Definitions that were not loaded from modules are taken for code of the program that runs.
 */
export async function buildOf(
  definitions: readonly Definition[],
  named: string | undefined,
): Promise<string | undefined> {
  if (!definitions.some(({ onFailure }) => onFailure === 'retry-on-new-build')) return named;
  const digest = await sourceDigest(entriesOf(definitions));
  return named === undefined ? digest : `${named}+${digest}`;
}

/**
 * Calls back once, with an absolute path, as soon as the content of a file that these definitions were loaded from changes. Folders that the
 * system doesn't watch are passed over. Resolves once it watches.
 */
export async function watchSource(
  definitions: readonly Definition[],
  onChange: (file: string) => void,
): Promise<{ close(): Promise<void> }> {
  const loaded = new Map<string, string>();
  for await (const { file, bytes } of sources(entriesOf(definitions))) loaded.set(file, hash('sha256', bytes));
  const closed = new AbortController();
  const { signal } = closed;
  const check = async (file: string): Promise<void> => {
    const bytes = loaded.has(file) ? await readFile(file).catch(() => undefined) : undefined;
    if (bytes === undefined || hash('sha256', bytes) === loaded.get(file) || signal.aborted) return;
    closed.abort();
    onChange(file);
  };
  for (const folder of new Set(Array.from(loaded.keys(), (file) => path.dirname(file)))) {
    try {
      const watcher = watch(folder, { persistent: false, signal });
      watcher.on('change', (_, name) => void check(path.join(folder, String(name))));
      watcher.on('error', () => watcher.close());
    } catch {
      // The system watches no more folders.
    }
  }
  return { close: async () => closed.abort() };
}

/** Their modules; the running program for those that were not loaded from one. */
function entriesOf(definitions: readonly Definition[]): readonly string[] {
  const program = process.argv[1];
  return [...new Set(definitions.flatMap((definition) => moduleOf(definition) ?? program ?? []))];
}

/** These files and all that they import, the real path of each, with its bytes. */
async function* sources(entries: readonly string[]): AsyncGenerator<{ readonly file: string; readonly bytes: Buffer }> {
  const found = new Set(await Promise.all(entries.map((entry) => realpath(entry).catch(() => path.resolve(entry)))));
  // A set is walked in the order of its members, those that are added meanwhile included.
  for (const file of found) {
    const bytes = await readFile(file).catch(() => undefined);
    if (bytes === undefined) continue;
    yield { file, bytes };
    for (const other of CODE.test(file) ? importsOf(file, bytes.toString('utf8')) : []) {
      if (found.size < SOURCE_FILES_MAX_COUNT) found.add(other);
    }
  }
}

/** Of these files, all that they import, and the lock file above the first. */
export async function sourceDigest(entries: readonly string[]): Promise<string> {
  const [first] = entries;
  const folder = path.dirname(
    first === undefined ? process.cwd() : await realpath(first).catch(() => path.resolve(first)),
  );
  const digest = createHash('sha256');
  for await (const { file, bytes } of sources(entries)) {
    digest.update(`${path.relative(folder, file)}\0${bytes.length}\0`).update(bytes);
  }
  const lock = lockAbove(folder);
  if (lock !== undefined) digest.update(await readFile(lock));
  return digest.digest('hex').slice(0, DIGEST_CHARS);
}

function importsOf(file: string, text: string): readonly string[] {
  const { resolve } = createRequire(file);
  const found = Array.from(text.matchAll(IMPORT), ([, , specifier]) => {
    try {
      return resolve(specifier!);
    } catch {
      return codeOfPackage(specifier!, file);
    }
  });
  return found.flat().filter((other) => path.isAbsolute(other) && isOwn(other));
}

const isOwn = (file: string): boolean => !file.split(path.sep).includes('node_modules');

/** All code in the folder of a package whose entry is for `import` alone, in the order of names. Empty if the package is someone else's. */
function codeOfPackage(specifier: string, file: string): readonly string[] {
  if (specifier.startsWith('.') || path.isAbsolute(specifier)) return [];
  try {
    const folder = path.dirname(realpathSync(findPackageJSON(specifier, file) ?? ''));
    if (!isOwn(folder)) return [];
    const files = globSync('**/*', { cwd: folder, exclude: (name) => path.basename(name) === 'node_modules' });
    return files
      .filter((name) => CODE.test(name))
      .sort()
      .map((name) => path.join(folder, name));
  } catch {
    // A word of a comment, or a package that is not installed.
    return [];
  }
}

function lockAbove(folder: string): string | undefined {
  const lock = LOCKS.map((name) => path.join(folder, name)).find((file) => existsSync(file));
  const above = path.dirname(folder);
  return lock ?? (above === folder ? undefined : lockAbove(above));
}
