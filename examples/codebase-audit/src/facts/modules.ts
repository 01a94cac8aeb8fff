// Owns the summary of each module: a folder that holds source files directly. Sub-folders are modules of their own.

import { compareText, sortedUnique } from '../order.ts';
import { folderOf } from '../paths.ts';
import { type Finding, SEVERITIES, type Severity } from './facts.ts';
import type { LinkedTree } from './link.ts';

export type ModuleSummary = {
  /** Folder, `.` for the root. */
  path: string;
  files: number;
  lines: number;
  functions: number;
  exports: number;
  /** Other modules whose files it imports, and the modules that import its files. */
  uses: string[];
  usedBy: string[];
  /** Packages from outside the tree. */
  external: string[];
  findings: Record<Severity, number>;
};

export function summariseModules(tree: LinkedTree, findings: readonly Finding[]): ModuleSummary[] {
  const modules = new Map<string, Draft>();
  const draft = (path: string): Draft => {
    const known = modules.get(path) ?? new Draft();
    modules.set(path, known);
    return known;
  };
  for (const facts of tree.files.values()) {
    const own = folderOf(facts.path);
    const module = draft(own);
    module.files++;
    module.lines += facts.lines;
    module.functions += facts.functions;
    module.exports += facts.exports.length + (facts.cut?.exports ?? 0);
    for (const edge of tree.edges.get(facts.path) ?? []) {
      const other = folderOf(edge.to);
      if (other === own) continue;
      module.uses.add(other);
      draft(other).usedBy.add(own);
    }
  }
  for (const [name, files] of tree.external) for (const file of files) draft(folderOf(file)).external.add(name);
  for (const finding of findings) draft(folderOf(finding.file)).findings[finding.severity]++;

  return [...modules].sort(([a], [b]) => compareText(a, b)).map(([path, module]) => module.finish(path));
}

class Draft {
  files = 0;
  lines = 0;
  functions = 0;
  exports = 0;
  readonly uses = new Set<string>();
  readonly usedBy = new Set<string>();
  readonly external = new Set<string>();
  readonly findings = Object.fromEntries(SEVERITIES.map((name) => [name, 0])) as Record<Severity, number>;

  finish(path: string): ModuleSummary {
    const { files, lines, functions, exports, findings } = this;
    const [uses, usedBy, external] = [this.uses, this.usedBy, this.external].map(sortedUnique) as [
      string[],
      string[],
      string[],
    ];
    return { path, files, lines, functions, exports, uses, usedBy, external, findings };
  }
}
