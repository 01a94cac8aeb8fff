/**
 * Owns reading package-lock.json and following a package's dependencies through it, as Node would find them. Judges nothing, and queries no
 * registry: the same file gives the same answer on every machine.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The forms of package-lock.json from version 2 on. */
interface LockEntry {
  readonly name?: string;
  readonly version?: string;
  readonly license?: unknown;
  readonly integrity?: string;
  /** Target of a link. */
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface LockedPackage {
  /** Its place from the root: `node_modules/pg`, `libs/model/core`. */
  readonly place: string;
  readonly name: string;
  readonly version: string;
  /** From its manifest; undefined: it names none, or the package is for another platform and was never read. */
  readonly licence: string | undefined;
  readonly integrity: string | undefined;
  /** A folder of this repository. */
  readonly isOwn: boolean;
  /** One of several builds; each platform installs its own. */
  readonly isPlatformBuild: boolean;
  /** Places of its runtime dependencies; sorted. */
  readonly needs: readonly string[];
  readonly develops: readonly string[];
}

export type Lock = ReadonlyMap<string, LockedPackage>;

/** Every package of the lock file in `rootFolder` by its place; the root's is ''. */
export function readLock(rootFolder: string): Lock {
  const file = path.join(rootFolder, 'package-lock.json');
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { readonly packages: Record<string, LockEntry> };
  const lock = new Map<string, LockedPackage>();
  for (const [place, entry] of Object.entries(packages)) {
    if (entry.link === true) continue;
    lock.set(place, packageOf(rootFolder, packages, place, entry));
  }
  return lock;
}

function packageOf(
  rootFolder: string,
  packages: Readonly<Record<string, LockEntry>>,
  place: string,
  entry: LockEntry,
): LockedPackage {
  const find = (names: Iterable<string>): string[] =>
    [...new Set([...names].flatMap((name) => foundFrom(packages, place, name) ?? []))].sort();
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = entry;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return {
    place,
    name: entry.name ?? place.replace(/^.*node_modules\//, ''),
    version: entry.version ?? '0.0.0',
    licence: licenceOf(entry.license) ?? licenceInstalled(rootFolder, place),
    integrity: entry.integrity,
    isOwn: !place.includes('node_modules/'),
    isPlatformBuild: entry.optional === true && entry.os !== undefined,
    needs: find([...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers]),
    develops: find(Object.keys(entry.devDependencies ?? {})),
  };
}

/** The nearest of that name, from the package's own folder upwards. Undefined: an optional one that was left out. */
function foundFrom(packages: Readonly<Record<string, LockEntry>>, place: string, name: string): string | undefined {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const candidate = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const entry = packages[candidate];
    if (entry !== undefined) return entry.link === true ? entry.resolved : candidate;
    if (folder === '') return undefined;
  }
}

const licenceOf = (said: unknown): string | undefined => (typeof said === 'string' && said !== '' ? said : undefined);

/** Lock files of some registries leave it out. */
function licenceInstalled(rootFolder: string, place: string): string | undefined {
  const file = path.join(rootFolder, place, 'package.json');
  if (!existsSync(file)) return undefined;
  return licenceOf((JSON.parse(readFileSync(file, 'utf8')) as { readonly license?: unknown }).license);
}

/** The packages at these places and all their runtime dependencies, by place, sorted. Development dependencies aren't followed. */
export function closureOf(lock: Lock, places: Iterable<string>): readonly LockedPackage[] {
  const seen = new Set<string>();
  const waiting = [...places];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (seen.has(place)) continue;
    const found = lock.get(place);
    if (found === undefined) throw new Error(`package-lock.json has no package at ${place}: run npm install.`);
    seen.add(place);
    waiting.push(...found.needs);
  }
  return [...seen].sort().map((place) => lock.get(place)!);
}
