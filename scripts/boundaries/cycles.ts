/**
 * Owns the rule that no files import each other in a circle: to understand one of them you would have to read all, and the order of loading
 * would matter. Must read no files.
 */
import path from 'node:path';
import { importsOf } from './imports.ts';
import type { SourceFile, Tree } from './tree.ts';
import type { Violation } from './violation.ts';

/** One violation for each circle, at its first file. Types and imports by `import()` count. */
export function checkCycles(tree: Tree): Violation[] {
  const targets = new Map(tree.files.map((file) => [file.file, importedBy(file)]));
  const state = new Map<string, 'open' | 'done'>();
  const found: Violation[] = [];
  const visit = (file: string, way: readonly string[]): void => {
    if (state.get(file) === 'open') {
      const circle = [...way.slice(way.indexOf(file)), file];
      found.push({
        rule: 'cycle',
        file,
        line: 1,
        message: `files import each other in a circle: ${circle.join(' → ')}`,
      });
      return;
    }
    if (state.has(file)) return;
    state.set(file, 'open');
    for (const target of targets.get(file) ?? []) if (targets.has(target)) visit(target, [...way, file]);
    state.set(file, 'done');
  };
  for (const file of targets.keys()) visit(file, []);
  return found;
}

/** Files that it imports, from the root. */
const importedBy = (file: SourceFile): readonly string[] =>
  importsOf(file)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => path.posix.join(path.posix.dirname(file.file), specifier));
