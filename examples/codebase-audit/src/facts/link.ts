// Owns the import graph of the whole tree: each file's facts with its specifiers resolved. The answer does not depend on the
// order of the facts; of two facts for one path (a file that changed while it was audited) the one with the smaller digest counts.

import { compareText } from '../order.ts';
import type { PackageFacts } from '../packages.ts';
import { isDeclarationFile } from '../paths.ts';
import type { FileFacts, ImportFact } from './facts.ts';
import { type Resolution, Resolver } from './resolve.ts';

/** One file's use of another. */
export type ImportEdge = {
  to: string;
  /** Evaluated when the importing file is: static imports, requires and value re-exports. */
  runtime: boolean;
  /** Names taken by imports; re-exported names are followed separately. */
  names: Set<string>;
  /** Everything is taken: a namespace, `export *`, a computed path. */
  all: boolean;
};

export type LinkedTree = {
  /** In code point order of their paths. */
  files: ReadonlyMap<string, FileFacts>;
  /** Importing file to its edges, in order of the imported path. */
  edges: ReadonlyMap<string, readonly ImportEdge[]>;
  /** Package name to the files that import it. */
  external: ReadonlyMap<string, ReadonlySet<string>>;
  builtins: ReadonlyMap<string, ReadonlySet<string>>;
  missing: readonly { file: string; from: string; line: number }[];
  resolver: Resolver;
  targets(file: string, specifier: string): readonly string[];
};

export function linkTree(allFacts: readonly FileFacts[], packages: readonly PackageFacts[]): LinkedTree {
  const sorted = [...allFacts].sort((a, b) => compareText(a.path, b.path) || compareText(a.sha256, b.sha256));
  const files = new Map<string, FileFacts>();
  for (const facts of sorted) if (!files.has(facts.path)) files.set(facts.path, facts);
  const linker = new Linker(files, new Resolver([...files.keys()], packages));
  for (const facts of files.values()) linker.link(facts);
  return linker.tree();
}

class Linker {
  readonly #files: ReadonlyMap<string, FileFacts>;
  readonly #resolver: Resolver;
  readonly #edges = new Map<string, ImportEdge[]>();
  readonly #external = new Map<string, Set<string>>();
  readonly #builtins = new Map<string, Set<string>>();
  readonly #missing: { file: string; from: string; line: number }[] = [];
  readonly #exportTypes = new Map<string, ReadonlySet<string>>();

  constructor(files: ReadonlyMap<string, FileFacts>, resolver: Resolver) {
    this.#files = files;
    this.#resolver = resolver;
  }

  link(facts: FileFacts): void {
    const edges = new Map<string, ImportEdge>();
    const edgeTo = (to: string): ImportEdge => {
      const known = edges.get(to) ?? { to, runtime: false, names: new Set<string>(), all: false };
      edges.set(to, known);
      return known;
    };
    for (const item of facts.imports) {
      for (const to of this.#resolved(facts.path, item.from, item.line)) {
        const edge = edgeTo(to);
        for (const name of item.names) if (name !== '*') edge.names.add(name);
        edge.all ||= item.names.includes('*');
        edge.runtime ||= this.#isRuntime(facts, item, to);
      }
    }
    for (const item of facts.exports) {
      if (item.from === undefined) continue;
      for (const to of this.#resolved(facts.path, item.from, item.line)) {
        const edge = edgeTo(to);
        edge.all ||= item.name === '*';
        edge.runtime ||= item.type !== true && !isDeclarationFile(facts.path);
      }
    }
    this.#edges.set(
      facts.path,
      [...edges.values()].sort((a, b) => compareText(a.to, b.to)),
    );
  }

  tree(): LinkedTree {
    return {
      files: this.#files,
      edges: this.#edges,
      external: this.#external,
      builtins: this.#builtins,
      missing: this.#missing,
      resolver: this.#resolver,
      targets: (file, specifier) => pathsOf(this.#resolver.resolve(file, specifier)),
    };
  }

  #resolved(file: string, specifier: string, line: number): readonly string[] {
    const found = this.#resolver.resolve(file, specifier);
    if (found.kind === 'external') note(this.#external, found.name, file);
    else if (found.kind === 'builtin') note(this.#builtins, found.name, file);
    else if (found.kind === 'missing') this.#missing.push({ file, from: specifier, line });
    return pathsOf(found);
  }

  /** An import of nothing but types leaves nothing behind at run time, also where it isn't marked as such. */
  #isRuntime(facts: FileFacts, item: ImportFact, to: string): boolean {
    if (item.kind !== 'static' && item.kind !== 'require') return false;
    if (isDeclarationFile(facts.path) || isDeclarationFile(to)) return false;
    return item.names.length === 0 || !item.names.every((name) => this.#typesOf(to).has(name));
  }

  #typesOf(path: string): ReadonlySet<string> {
    let types = this.#exportTypes.get(path);
    if (types === undefined) {
      const exports = this.#files.get(path)?.exports ?? [];
      types = new Set(exports.filter((item) => item.type === true).map((item) => item.name));
      this.#exportTypes.set(path, types);
    }
    return types;
  }
}

function pathsOf(found: Resolution): readonly string[] {
  return found.kind === 'file' ? [found.path] : found.kind === 'folder' ? found.paths : [];
}

function note(map: Map<string, Set<string>>, name: string, file: string): void {
  const files = map.get(name) ?? new Set<string>();
  map.set(name, files.add(file));
}
