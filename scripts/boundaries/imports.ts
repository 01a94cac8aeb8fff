/** Owns which modules a source file names: the one reading of imports for the boundary check and for the build of packages. */
import type { SourceFile } from './tree.ts';
import { lineOf } from './violation.ts';

export interface Import {
  readonly specifier: string;
  readonly line: number;
}

/** `@scope/name` of `@scope/name/door`, `name` of `name/door`. */
export function packageName(specifier: string): string {
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}

/** Static, re-exporting and literal dynamic imports; types count like values. */
export function importsOf(file: Pick<SourceFile, 'source' | 'parsed'>): Import[] {
  const { staticImports, staticExports, dynamicImports } = file.parsed.module;
  const found = new Map<string, Import>();
  const add = (specifier: string, start: number): void => {
    if (!found.has(specifier)) found.set(specifier, { specifier, line: lineOf(file.source, start) });
  };
  for (const { moduleRequest } of staticImports) add(moduleRequest.value, moduleRequest.start);
  for (const { entries } of staticExports) {
    for (const { moduleRequest } of entries) if (moduleRequest !== null) add(moduleRequest.value, moduleRequest.start);
  }
  for (const { moduleRequest } of dynamicImports) {
    const literal = /^(['"`])([^$]*)\1$/.exec(file.source.slice(moduleRequest.start, moduleRequest.end));
    if (literal?.[2] !== undefined) add(literal[2], moduleRequest.start);
  }
  return [...found.values()];
}
