/**
 * Owns which files of a package are published: those that its entry points and commands reach, so that no test, fixture or bench gets in.
 * Also lists what they import from elsewhere. Must write nothing.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'oxc-parser';
import { importsOf, packageName } from '../boundaries/imports.ts';
import { entriesOf, type Published } from './published.ts';

/** The one form in which source may name a module that it doesn't import: a worker thread's. The build writes `.js` there. */
export const NAMED_MODULE = /(new URL\(\s*(['"]))(\.{1,2}\/[^'"]+)\.ts(\2,\s*import\.meta\.url\s*\))/g;

/** A script of another language, which the package reads as it is. */
const NAMED_SCRIPT = /new URL\(\s*(['"])(\.{1,2}\/[^'"]+\.lua)\1,\s*import\.meta\.url\s*\)/g;

export interface Reached {
  /** From the package's folder, with forward slashes, sorted. */
  readonly files: readonly string[];
  /** Imported packages, and the first file that imports each. */
  readonly packages: ReadonlyMap<string, string>;
}

/** Throws when a named file doesn't exist. */
export function reachOf(root: string, published: Published): Reached {
  const files = new Set<string>();
  const packages = new Map<string, string>();
  const open = entriesOf(published).map((file) => path.posix.normalize(file));
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file) || file === 'package.json') continue;
    const full = path.join(root, published.folder, file);
    if (!existsSync(full)) throw new Error(`${published.folder}/${file} is exported or imported, but isn't there`);
    files.add(file);
    if (!/\.(ts|js)$/.test(file)) continue;
    const source = readFileSync(full, 'utf8');
    const named = importsOf({ source, parsed: parseSync(full, source) }).map(({ specifier }) => specifier);
    for (const [, , , module] of source.matchAll(NAMED_MODULE)) named.push(`${module}.ts`);
    for (const [, , file] of source.matchAll(NAMED_SCRIPT)) named.push(file!);
    for (const specifier of named) {
      if (specifier.startsWith('.')) open.push(path.posix.join(path.posix.dirname(file), specifier));
      else if (!specifier.startsWith('node:')) {
        const name = packageName(specifier);
        if (!packages.has(name)) packages.set(name, file);
      }
    }
  }
  return { files: [...files].sort(), packages };
}
