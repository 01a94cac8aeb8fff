/**
 * Owns finding the git repository that tracks a folder, from `.git/index` alone (formats 2 to 4, split ones too: gitformat-index(5)). Must
 * run nothing, and must not trust the file: an index that isn't understood counts as one that tracks the folder.
 */

import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** Longest index of a git repository that is read; a million files have about 120 MB. */
const GIT_INDEX_MAX_BYTES = 256 * 1024 * 1024;
/** Longest `.git` file, which names another folder, and longest settings of a repository that are looked into. */
const GIT_FILE_MAX_BYTES = 4_096;

/** Bytes of an entry before its digest, and of the digests that git has. */
const ENTRY_HEAD_BYTES = 40;
const DIGEST_BYTES = [20, 32] as const;
const LONG_FLAGS = 0x4000;

/**
 * The repository whose index has the folder itself (as a link, a file or a repository of its own), or one of the names in it or below;
 * undefined: none has. Names are compared as the most lenient file systems do.
 */
export function trackingRepository(folder: string, names: readonly string[]): string | undefined {
  for (const start of new Set([folder, realpathSync.native(folder)])) {
    for (let at = start; ; at = path.dirname(at)) {
      const index = indexOf(at);
      const own = path.relative(at, start).split(path.sep).join('/');
      if (index !== undefined && tracks(index, own, names) !== false) return at;
      if (at === path.dirname(at)) break;
    }
  }
  return undefined;
}

/** The index of the repository in that folder. Undefined: there is no repository. */
function indexOf(folder: string): string | undefined {
  const git = path.join(folder, '.git');
  const stats = lstatSync(git, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) return path.join(git, 'index');
  // A work tree, or a repository within another one.
  const [, target] = /^gitdir: (.+)\n?$/.exec(stats.size > GIT_FILE_MAX_BYTES ? '' : readFileSync(git, 'utf8')) ?? [];
  return target === undefined ? git : path.resolve(folder, target, 'index');
}

/** Undefined: the index isn't understood. `own`: the folder's name in the repository; empty: it is the repository itself. */
function tracks(file: string, own: string, names: readonly string[], isShared = false): boolean | undefined {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return isShared || mayBringWithoutIndex(path.dirname(file)) ? undefined : false;
  if (!stats.isFile() || stats.size > GIT_INDEX_MAX_BYTES) return undefined;
  const prefix = own === '' ? '' : `${folded(own)}/`;
  const isWanted = (name: string): boolean => {
    const tracked = folded(name);
    if (tracked === prefix.slice(0, -1)) return true;
    if (!tracked.startsWith(prefix)) return false;
    const [first] = tracked.slice(prefix.length).split('/');
    return names.includes(first!);
  };
  const bytes = readFileSync(file);
  for (const digestBytes of DIGEST_BYTES) {
    const read = readIndex(bytes, digestBytes, isWanted);
    if (read === undefined) continue;
    if (read.isFound || read.shared === undefined || isShared) return read.isFound;
    return tracks(path.join(path.dirname(file), `sharedindex.${read.shared}`), own, names, true);
  }
  return undefined;
}

/** Some file systems disregard case, forms of a letter (`ſ`, `ｓ`) and characters without a width. */
function folded(name: string): string {
  if (/^[\0-\x7f]*$/.test(name)) return name.toLowerCase();
  const seen = name.normalize('NFKD').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  return seen.toUpperCase().toLowerCase().normalize('NFKD');
}

/**
 * Whether a repository (its `.git`) has anything that it could have brought: `git clone -n` makes no index, and files may be restored without
 * one. A bare repository has no files.
 */
function mayBringWithoutIndex(git: string): boolean {
  if (statSync(git, { throwIfNoEntry: false })?.isDirectory() !== true) return false;
  // A further work tree: the objects are its repository's.
  if (existsSync(path.join(git, 'commondir'))) return true;
  const config = path.join(git, 'config');
  const bytes = statSync(config, { throwIfNoEntry: false })?.size ?? 0;
  if (
    bytes > 0 &&
    bytes <= GIT_FILE_MAX_BYTES &&
    /^[\t ]*bare[\t ]*=[\t ]*true[\t\r ]*$/m.test(readFileSync(config, 'utf8'))
  )
    return false;
  const objects = path.join(git, 'objects');
  return (
    namesIn(objects).some((name) => name !== 'info' && name !== 'pack') ||
    namesIn(path.join(objects, 'pack')).length > 0 ||
    existsSync(path.join(objects, 'info', 'alternates'))
  );
}

const namesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);

interface Read {
  readonly isFound: boolean;
  /** Digest of the index that this one adds to. */
  readonly shared?: string | undefined;
}

/** Undefined: it isn't an index with digests of that length. */
function readIndex(bytes: Buffer, digestBytes: number, isWanted: (name: string) => boolean): Read | undefined {
  if (bytes.length < 12 + digestBytes || bytes.toString('latin1', 0, 4) !== 'DIRC') return undefined;
  const [version, count, end] = [bytes.readUInt32BE(4), bytes.readUInt32BE(8), bytes.length - digestBytes];
  if (version < 2 || version > 4) return undefined;
  let at = 12;
  let name = '';
  let isFound = false;
  for (let entry = 0; entry < count; entry++) {
    const begin = at;
    const flagsAt = begin + ENTRY_HEAD_BYTES + digestBytes;
    if (flagsAt + 2 > end) return undefined;
    at = flagsAt + ((bytes.readUInt16BE(flagsAt) & LONG_FLAGS) !== 0 && version > 2 ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      // How many characters of the name before are not in this one.
      const cut = readOffset(bytes, at);
      [kept, at] = [Buffer.byteLength(name, 'latin1') - cut.value, cut.next];
      if (kept < 0) return undefined;
    }
    const zero = bytes.indexOf(0, at);
    if (zero < 0 || zero >= end) return undefined;
    name = name.slice(0, kept) + bytes.toString('latin1', at, zero);
    // Formats 2 and 3 fill an entry up with 1 to 8 zeros.
    at = version === 4 ? zero + 1 : begin + ((zero - begin) & ~7) + 8;
    isFound ||= isWanted(Buffer.from(name, 'latin1').toString());
  }
  return extensionsOf(bytes, at, end, isFound);
}

/** Also proves that the entries were read as they were written: extensions fill what is left of the file. */
function extensionsOf(bytes: Buffer, begin: number, end: number, isFound: boolean): Read | undefined {
  let shared: string | undefined;
  let at = begin;
  while (at + 8 <= end) {
    const [kind, size] = [bytes.toString('latin1', at, at + 4), bytes.readUInt32BE(at + 4)];
    if (!/^[A-Za-z]{4}$/.test(kind)) return undefined;
    // All zeros: it adds to nothing.
    const digest = bytes.toString('hex', at + 8, at + 8 + bytes.length - end);
    if (kind === 'link' && /[^0]/.test(digest)) shared = digest;
    at += 8 + size;
  }
  return at === end ? { isFound, shared } : undefined;
}

/** Git's number of variable length, in which each further byte adds one. */
function readOffset(bytes: Buffer, begin: number): { readonly value: number; readonly next: number } {
  let at = begin;
  let byte = bytes[at++] ?? 0;
  let value = byte & 127;
  while ((byte & 128) !== 0 && at < begin + 5) {
    byte = bytes[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, next: at };
}
