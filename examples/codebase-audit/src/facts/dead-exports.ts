// Owns the question which exports nobody uses. An export is alive when a file of the tree imports it, when it belongs to an
// entry point, or when it is passed on by an export that is alive itself. In doubt it is alive: namespace imports and
// `export * from` use everything; what a file beyond the import cap takes is unknown, so its whole package is spared.

import { compareBy } from '../order.ts';
import { isConfigFile, isDeclarationFile, isIndexFile, isTestFile } from '../paths.ts';
import type { FileFacts } from './facts.ts';
import type { ImportEdge, LinkedTree } from './link.ts';

export type DeadExport = {
  file: string;
  name: string;
  line: number;
  type?: true;
  /** Its own file uses it: only the word `export` is dead. */
  local?: true;
  /** No file imports this one at all. */
  unimported?: true;
};

/** Exports without a user, by file and line. `entries`: files that outsiders reach by name. */
export function deadExports(tree: LinkedTree, entries: ReadonlySet<string>, spared: ReadonlySet<string>): DeadExport[] {
  const alive = aliveExports(tree, entries);
  const imported = new Set<string>();
  for (const edges of tree.edges.values()) for (const edge of edges) imported.add(edge.to);

  const found: DeadExport[] = [];
  for (const facts of tree.files.values()) {
    if (isEntry(facts, entries) || isDeclarationFile(facts.path) || spared.has(facts.path)) continue;
    const names = alive.get(facts.path);
    if (names?.has('*')) continue;
    for (const item of facts.exports) {
      // `export *` has no name of its own; `module.exports = x` counts as used by whatever is taken from the file.
      const used =
        item.name === '=' ? names !== undefined && names.size > 0 : item.name === '*' || names?.has(item.name);
      if (used) continue;
      found.push({
        file: facts.path,
        name: item.name,
        line: item.line,
        ...(item.type === true ? { type: true as const } : {}),
        ...(item.local === true ? { local: true as const } : {}),
        ...(imported.has(facts.path) ? {} : { unimported: true as const }),
      });
    }
  }
  return found.sort(
    compareBy(
      (item) => item.file,
      (item) => item.line,
      (item) => item.name,
    ),
  );
}

/** Files whose exports have users that no import shows. */
export function isEntry(facts: FileFacts, entries: ReadonlySet<string>): boolean {
  const path = facts.path;
  return entries.has(path) || facts.executable === true || isIndexFile(path) || isConfigFile(path) || isTestFile(path);
}

/** File to the names used of it, `*` for all. Follows re-exports from what is alive to what they pass on. */
function aliveExports(tree: LinkedTree, entries: ReadonlySet<string>): Map<string, Set<string>> {
  const alive = new Map<string, Set<string>>();
  const pending: { file: string; name: string }[] = [];
  const mark = (file: string, name: string) => {
    const names = alive.get(file) ?? new Set<string>();
    alive.set(file, names);
    if (names.has(name) || names.has('*')) return;
    names.add(name);
    pending.push({ file, name });
  };

  for (const facts of tree.files.values()) {
    for (const edge of tree.edges.get(facts.path) ?? []) markImport(edge, tree, mark);
    if (isEntry(facts, entries)) mark(facts.path, '*');
  }
  while (pending.length > 0) {
    const { file, name } = pending.pop()!;
    for (const item of tree.files.get(file)?.exports ?? []) {
      if (item.from === undefined || !(name === '*' || item.name === name)) continue;
      for (const target of tree.targets(file, item.from)) mark(target, item.imported ?? item.name);
    }
  }
  return alive;
}

function markImport(edge: ImportEdge, tree: LinkedTree, mark: (file: string, name: string) => void): void {
  if (edge.all) mark(edge.to, '*');
  const isCommonJs = tree.files.get(edge.to)?.exports.some((item) => item.name === '=') ?? false;
  for (const name of edge.names) {
    // The default import of a CommonJS file is all it exports.
    mark(edge.to, name === 'default' && !hasDefault(tree, edge.to) ? '*' : name);
    if (isCommonJs) mark(edge.to, '=');
  }
}

function hasDefault(tree: LinkedTree, file: string): boolean {
  return tree.files.get(file)?.exports.some((item) => item.name === 'default') ?? false;
}
