// Owns the way from an import specifier to a file of the audited tree. Works on the list of paths and the package facts alone:
// no file system, so that the same lists give the same answer anywhere.

import { builtinModules } from 'node:module';
import { compareText } from '../order.ts';
import type { PackageFacts } from '../packages.ts';
import { extensionOf, folderOf, isDeclarationFile, joinPath, SOURCE_EXTENSIONS } from '../paths.ts';

export type Resolution =
  | { kind: 'file'; path: string }
  /** All files below a folder: a template specifier with a constant beginning. */
  | { kind: 'folder'; paths: readonly string[] }
  | { kind: 'external'; name: string }
  | { kind: 'builtin'; name: string }
  /** A relative or mapped specifier that names none of the audited files (an asset, a generated file, a mistake). */
  | { kind: 'missing' };

const BUILTINS = new Set(builtinModules);
/** Source extensions behind the extension a compiled import names, in order. */
const SOURCES_OF: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.js', '.ts', '.tsx', '.jsx', '.d.ts'],
  '.jsx': ['.jsx', '.tsx'],
  '.mjs': ['.mjs', '.mts', '.d.mts'],
  '.cjs': ['.cjs', '.cts', '.d.cts'],
};
const DECLARATIONS_OF: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.d.ts', '.ts', '.tsx', '.js'],
  '.mjs': ['.d.mts', '.mts', '.mjs'],
  '.cjs': ['.d.cts', '.cts', '.cjs'],
};
const TRIED_EXTENSIONS = [...SOURCE_EXTENSIONS, '.d.ts', '.d.mts', '.d.cts'];
const BUILD_FOLDERS = /^(?:dist|lib|build|out|esm|cjs|es|output)\/(?:(?:esm|cjs|es|src|types)\/)?/;

export class Resolver {
  readonly #files: ReadonlySet<string>;
  readonly #sortedPaths: readonly string[];
  readonly #packages = new Map<string, PackageFacts>();
  readonly #byName = new Map<string, PackageFacts>();
  readonly #answers = new Map<string, Resolution>();

  /** `paths`: the audited files. Of several packages with one name the first by folder counts, unless Node's rules find one nearer. */
  constructor(paths: readonly string[], packages: readonly PackageFacts[]) {
    this.#files = new Set(paths);
    this.#sortedPaths = [...paths].sort(compareText);
    for (const facts of [...packages].sort((a, b) => compareText(a.folder, b.folder))) {
      this.#packages.set(facts.folder, facts);
      // What lies in a node_modules is seen from beside it only.
      if (facts.name === undefined || facts.folder.split('/').includes('node_modules')) continue;
      if (!this.#byName.has(facts.name)) this.#byName.set(facts.name, facts);
    }
  }

  resolve(from: string, specifier: string): Resolution {
    const folder = folderOf(from);
    const declaration = isDeclarationFile(from);
    const key = `${folder}\n${declaration ? 'd' : ''}\n${specifier}`;
    let answer = this.#answers.get(key);
    if (answer === undefined) {
      answer = this.#find(folder, specifier, declaration);
      this.#answers.set(key, answer);
    }
    return answer;
  }

  /** The audited file that a manifest's target stands for: itself, its source, or the same path in `src`. */
  target(folder: string, target: string): string | undefined {
    for (const path of this.#places(folder, target)) {
      const file = this.#file(path, false);
      if (file !== undefined) return file;
    }
    return undefined;
  }

  /** All audited files that a manifest's target stands for; a `*` in it stands for anything. */
  targets(folder: string, target: string): string[] {
    const star = target.indexOf('*');
    if (star < 0) {
      const file = this.target(folder, target);
      return file === undefined ? [] : [file];
    }
    const extension = extensionOf(target);
    const found: string[] = [];
    for (const place of this.#places(folder, extension === '' ? target : target.slice(0, -extension.length))) {
      const [before, after] = [place.slice(0, place.indexOf('*')), place.slice(place.lastIndexOf('*') + 1)];
      const matches = (path: string) =>
        path.startsWith(before) && path.slice(0, -extensionOf(path).length).endsWith(after);
      found.push(...this.#sortedPaths.filter(matches));
    }
    return found;
  }

  #places(folder: string, target: string): string[] {
    const path = joinPath(folder, target);
    if (path === undefined) return [];
    const start = folder === '.' ? '' : `${folder}/`;
    const inside = path.slice(start.length);
    const source = inside.replace(BUILD_FOLDERS, 'src/');
    return source === inside ? [path] : [path, start + source];
  }

  /** The folder of the nearest package around a path, `.` when there is none. */
  packageFolder(path: string): string {
    return this.#nearest(folderOf(path), (facts) => facts.name !== undefined)?.folder ?? '.';
  }

  #find(folder: string, written: string, declaration: boolean): Resolution {
    const specifier = written.split('?', 1)[0]!;
    if (specifier.endsWith('*') && isRelative(specifier)) return this.#below(folder, specifier.slice(0, -1));
    if (isRelative(specifier)) {
      const path = joinPath(folder, specifier);
      const file = path === undefined ? undefined : this.#file(path, declaration);
      return file === undefined ? { kind: 'missing' } : { kind: 'file', path: file };
    }
    if (specifier.startsWith('node:')) return { kind: 'builtin', name: specifier.slice(5) };
    if (BUILTINS.has(specifier)) return { kind: 'builtin', name: specifier };
    if (specifier.startsWith('#')) return this.#internal(folder, specifier);
    const mapped = this.#mapped(folder, specifier, declaration);
    if (mapped !== undefined) return { kind: 'file', path: mapped };
    const { name, subpath } = splitPackage(specifier);
    const found = this.#package(folder, name);
    if (found === undefined) return { kind: 'external', name };
    const file = this.#inPackage(found, subpath, declaration);
    return file === undefined ? { kind: 'missing' } : { kind: 'file', path: file };
  }

  #below(folder: string, prefix: string): Resolution {
    const path = joinPath(folder, prefix);
    if (path === undefined) return { kind: 'missing' };
    const start = path === '' ? '' : `${path}/`;
    return { kind: 'folder', paths: this.#sortedPaths.filter((file) => file.startsWith(start)) };
  }

  /** The file a path stands for: exact, by its source extension, with an extension added, or a folder's entry. */
  #file(path: string, declaration: boolean, followMain = true): string | undefined {
    const extension = extensionOf(path);
    const alternatives = (declaration ? DECLARATIONS_OF : SOURCES_OF)[extension];
    if (alternatives !== undefined) {
      const stem = path.slice(0, -extension.length);
      for (const other of alternatives) if (this.#files.has(stem + other)) return stem + other;
    }
    if (this.#files.has(path)) return path;
    for (const added of TRIED_EXTENSIONS) if (this.#files.has(path + added)) return path + added;
    const folder = path === '' ? '.' : path;
    for (const main of followMain ? (this.#packages.get(folder)?.main ?? []) : []) {
      const target = joinPath(folder, main);
      const file = target === undefined ? undefined : this.#file(target, declaration, false);
      if (file !== undefined) return file;
    }
    const index = path === '' ? 'index' : `${path}/index`;
    for (const added of TRIED_EXTENSIONS) if (this.#files.has(index + added)) return index + added;
    return undefined;
  }

  #internal(folder: string, specifier: string): Resolution {
    const facts = this.#nearest(folder, (candidate) => candidate.imports !== undefined);
    const targets = facts?.imports === undefined ? undefined : matchPattern(facts.imports, specifier);
    const file = facts === undefined ? undefined : this.#firstTarget(facts.folder, targets ?? [], false);
    return file === undefined ? { kind: 'missing' } : { kind: 'file', path: file };
  }

  #mapped(folder: string, specifier: string, declaration: boolean): string | undefined {
    const facts = this.#nearest(folder, (candidate) => candidate.paths !== undefined);
    if (facts?.paths === undefined) return undefined;
    for (const target of matchPattern(facts.paths, specifier) ?? []) {
      const file = this.#file(target, declaration);
      if (file !== undefined) return file;
    }
    return undefined;
  }

  /** Node's search in `node_modules` upwards, then any package of that name in the tree. */
  #package(folder: string, name: string): PackageFacts | undefined {
    const parts = folder === '.' ? [] : folder.split('/');
    for (let length = parts.length; length >= 0; length--) {
      const above = parts.slice(0, length).join('/');
      const inside = parts[length - 1] === 'node_modules' ? above : `${above === '' ? '' : `${above}/`}node_modules`;
      const facts = this.#packages.get(`${inside}/${name}`);
      if (facts !== undefined) return facts;
    }
    return this.#byName.get(name);
  }

  #inPackage(facts: PackageFacts, subpath: string, declaration: boolean): string | undefined {
    if (facts.exports !== undefined) {
      const found = this.#firstTarget(facts.folder, matchPattern(facts.exports, subpath) ?? [], declaration);
      if (found !== undefined) return found;
    }
    const path = joinPath(facts.folder, subpath);
    if (path === undefined) return undefined;
    if (subpath !== '.') return this.#file(path, declaration) ?? this.target(facts.folder, subpath);
    return this.#firstTarget(facts.folder, facts.main ?? [], declaration) ?? this.#file(path, declaration);
  }

  /** The first target with a file; one that exists at run time comes before a declaration, unless a declaration asks. */
  #firstTarget(folder: string, targets: readonly string[], declaration: boolean): string | undefined {
    const files = targets.map((target) => this.target(folder, target)).filter((file) => file !== undefined);
    return files.find((file) => isDeclarationFile(file) === declaration) ?? files[0];
  }

  #nearest(folder: string, wanted: (facts: PackageFacts) => boolean): PackageFacts | undefined {
    for (let at = folder; ; at = folderOf(at)) {
      const facts = this.#packages.get(at);
      if (facts !== undefined && wanted(facts)) return facts;
      if (at === '.') return undefined;
    }
  }
}

export function isRelative(specifier: string): boolean {
  return specifier === '.' || specifier === '..' || specifier.startsWith('./') || specifier.startsWith('../');
}

function splitPackage(specifier: string): { name: string; subpath: string } {
  const parts = specifier.split('/');
  const count = specifier.startsWith('@') ? 2 : 1;
  const rest = parts.slice(count).join('/');
  return { name: parts.slice(0, count).join('/'), subpath: rest === '' ? '.' : `./${rest}` };
}

/** Targets of the best key: an exact one, else the pattern with the longest beginning; `*` is filled in. */
export function matchPattern(map: Readonly<Record<string, readonly string[]>>, key: string): string[] | undefined {
  const exact = Object.hasOwn(map, key) ? map[key] : undefined;
  if (exact !== undefined) return [...exact];
  let best: { targets: readonly string[]; filling: string; length: number } | undefined;
  for (const pattern of Object.keys(map).sort(compareText)) {
    const star = pattern.indexOf('*');
    if (star < 0) continue;
    const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
    if (key.length < before.length + after.length || !key.startsWith(before) || !key.endsWith(after)) continue;
    if (best !== undefined && best.length >= before.length) continue;
    best = {
      targets: map[pattern]!,
      filling: key.slice(before.length, key.length - after.length),
      length: before.length,
    };
  }
  return best?.targets.map((target) => target.replaceAll('*', () => best.filling));
}
