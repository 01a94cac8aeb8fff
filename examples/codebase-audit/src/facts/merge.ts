// Owns the step from the facts of all files to the audit of the tree: dependencies, modules, cycles, dead exports, totals.
// Pure, and the same for any order of its input. Time grows with files and imports, not with their product.

import type { Discovery, Skipped } from '../discover.ts';
import { compareBy, compareText } from '../order.ts';
import { type DeadExport, deadExports } from './dead-exports.ts';
import { type FileFacts, type Finding, RULES, type Rule, SEVERITIES, type Severity } from './facts.ts';
import { cyclicComponents, type Graph, shortestCycle } from './graph.ts';
import { type LinkedTree, linkTree } from './link.ts';
import { type ModuleSummary, summariseModules } from './modules.ts';

export type Audit = {
  label: string;
  totals: {
    files: number;
    lines: number;
    bytes: number;
    functions: number;
    imports: number;
    exports: number;
    modules: number;
    findings: Record<Severity, number>;
    findingsByRule: Record<Rule, number>;
  };
  /** By severity, then rule, file and line. Import cycles and dead exports are findings too. */
  findings: Finding[];
  cycles: ImportCycle[];
  deadExports: DeadExport[];
  modules: ModuleSummary[];
  files: FileEntry[];
  external: { name: string; files: number }[];
  builtins: { name: string; files: number }[];
  incomplete: Incomplete;
};

/** `cycle`: one shortest way round through the first file; `files`: all that take part. */
export type ImportCycle = { files: string[]; cycle: string[] };
export type FileEntry = {
  path: string;
  sha256: string;
  lines: number;
  bytes: number;
  status: FileFacts['status'];
  /** Files of the tree that this one imports. */
  imports: string[];
  /** How many files of the tree import this one. */
  importedBy: number;
};
/** What the audit does not know, so that nobody takes silence for an answer. */
export type Incomplete = {
  unparsed: string[];
  unreadable: string[];
  skipped: Skipped[];
  skippedCut: number;
  filesCut: number;
  symlinks: number;
  /** Files whose lists were cut at a limit. */
  cut: { file: string; findings: number; imports: number; exports: number }[];
  unresolvedImports: number;
  opaqueImports: number;
};

export function merge(discovery: Discovery, allFacts: readonly FileFacts[]): Audit {
  const tree = linkTree(allFacts, discovery.packages);
  const files = [...tree.files.values()];
  const cycles = importCycles(tree);
  const dead = deadExports(tree, entryPoints(tree, discovery), sparedFiles(tree));
  const findings = [
    ...files.flatMap((facts) => facts.findings),
    ...cycles.map(cycleFinding),
    ...crossFileRecursion(tree),
    ...dead.map(deadFinding),
  ].sort(byImportance);
  const modules = summariseModules(tree, findings);
  return {
    label: discovery.label,
    totals: totals(files, findings, modules.length),
    findings,
    cycles,
    deadExports: dead,
    modules,
    files: fileEntries(tree),
    external: counted(tree.external),
    builtins: counted(tree.builtins),
    incomplete: incomplete(tree, discovery),
  };
}

const byImportance = compareBy<Finding>(
  (item) => SEVERITIES.indexOf(item.severity),
  (item) => RULES.indexOf(item.rule),
  (item) => item.file,
  (item) => item.line,
  (item) => item.column,
  (item) => item.message,
);

/** Files that package manifests name: they are reached from outside the tree. */
function entryPoints(tree: LinkedTree, discovery: Discovery): Set<string> {
  const entries = new Set<string>();
  for (const { folder, entries: named } of discovery.packages) {
    for (const path of named) {
      const inside = folder === '.' ? path : path.slice(folder.length + 1);
      for (const file of tree.resolver.targets(folder, inside)) entries.add(file);
    }
  }
  return entries;
}

/** All files of a package in which some file has more imports than are kept: what those took is not known. */
function sparedFiles(tree: LinkedTree): Set<string> {
  const folders = new Set<string>();
  for (const facts of tree.files.values()) {
    if (facts.cut?.imports !== undefined) folders.add(tree.resolver.packageFolder(facts.path));
  }
  const spared = new Set<string>();
  if (folders.size === 0) return spared;
  for (const path of tree.files.keys()) if (folders.has(tree.resolver.packageFolder(path))) spared.add(path);
  return spared;
}

function importCycles(tree: LinkedTree): ImportCycle[] {
  const graph: Graph = new Map(
    [...tree.edges].map(([from, edges]) => [from, edges.filter((edge) => edge.runtime).map((edge) => edge.to)]),
  );
  return cyclicComponents(graph).map((files) => ({ files, cycle: shortestCycle(graph, files, files[0]!) }));
}

function cycleFinding({ files, cycle }: ImportCycle): Finding {
  const size = files.length === 1 ? 'a file imports itself' : `${files.length} files import each other in a circle`;
  const evidence = [...cycle, cycle[0]!].join(' → ');
  return { rule: 'import-cycle', severity: 'medium', file: files[0]!, line: 1, column: 1, message: size, evidence };
}

function deadFinding(item: DeadExport): Finding {
  const name = item.name === '=' ? 'module.exports' : item.name;
  const what = `${item.type === true ? 'type' : 'export'} ${name}`;
  const message =
    item.local === true
      ? `no other file imports the ${what}; its own file uses it`
      : item.unimported === true
        ? `no file imports this one: the ${what} is unused`
        : `nothing uses the ${what}`;
  return {
    rule: 'dead-export',
    severity: 'info',
    file: item.file,
    line: item.line,
    column: 1,
    message,
    evidence: name,
  };
}

/** Exported functions of different files that call each other on every path. */
function crossFileRecursion(tree: LinkedTree): Finding[] {
  const graph = new Map<string, string[]>();
  const places = new Map<string, { file: string; name: string; line: number }>();
  for (const facts of tree.files.values()) {
    for (const link of facts.calls ?? []) {
      const node = `${facts.path}\n${link.name}`;
      places.set(node, { file: facts.path, name: link.name, line: link.line });
      const made = graph.get(node) ?? [];
      for (const file of tree.targets(facts.path, link.from)) made.push(`${file}\n${link.to}`);
      graph.set(node, made);
    }
  }
  return cyclicComponents(graph).map((component) => {
    const members = component.map((node) => places.get(node)!);
    const { file, line } = members[0]!;
    const evidence = members.map((member) => `${member.name} (${member.file})`).join(' → ');
    const message = `${members.length} functions in different files call each other on every path`;
    return { rule: 'unbounded-recursion', severity: 'medium', file, line, column: 1, message, evidence };
  });
}

function totals(files: readonly FileFacts[], findings: readonly Finding[], modules: number): Audit['totals'] {
  const sum = (value: (facts: FileFacts) => number) => files.reduce((total, facts) => total + value(facts), 0);
  const bySeverity = Object.fromEntries(SEVERITIES.map((name) => [name, 0])) as Record<Severity, number>;
  const byRule = Object.fromEntries(RULES.map((name) => [name, 0])) as Record<Rule, number>;
  for (const finding of findings) {
    bySeverity[finding.severity]++;
    byRule[finding.rule]++;
  }
  return {
    files: files.length,
    lines: sum((facts) => facts.lines),
    bytes: sum((facts) => facts.bytes),
    functions: sum((facts) => facts.functions),
    imports: sum((facts) => facts.imports.length + (facts.cut?.imports ?? 0)),
    exports: sum((facts) => facts.exports.length + (facts.cut?.exports ?? 0)),
    modules,
    findings: bySeverity,
    findingsByRule: byRule,
  };
}

function fileEntries(tree: LinkedTree): FileEntry[] {
  const importedBy = new Map<string, number>();
  for (const edges of tree.edges.values()) {
    for (const { to } of edges) importedBy.set(to, (importedBy.get(to) ?? 0) + 1);
  }
  return [...tree.files.values()].map(({ path, sha256, lines, bytes, status }) => ({
    path,
    sha256,
    lines,
    bytes,
    status,
    imports: (tree.edges.get(path) ?? []).map((edge) => edge.to),
    importedBy: importedBy.get(path) ?? 0,
  }));
}

/** The most used first. */
function counted(uses: ReadonlyMap<string, ReadonlySet<string>>): { name: string; files: number }[] {
  const rows = [...uses].map(([name, files]) => ({ name, files: files.size }));
  return rows.sort((a, b) => b.files - a.files || compareText(a.name, b.name));
}

function incomplete(tree: LinkedTree, discovery: Discovery): Incomplete {
  const files = [...tree.files.values()];
  const withStatus = (status: FileFacts['status']) =>
    files.filter((facts) => facts.status === status).map(({ path }) => path);
  return {
    unparsed: withStatus('unparsed'),
    unreadable: withStatus('unreadable'),
    skipped: discovery.skipped,
    skippedCut: discovery.skippedCut,
    filesCut: discovery.filesCut,
    symlinks: discovery.symlinks,
    cut: files
      .filter((facts) => facts.cut !== undefined)
      .map(({ path, cut }) => ({
        file: path,
        findings: cut?.findings ?? 0,
        imports: cut?.imports ?? 0,
        exports: cut?.exports ?? 0,
      })),
    unresolvedImports: tree.missing.length,
    opaqueImports: files.reduce((total, facts) => total + (facts.opaqueImports ?? 0), 0),
  };
}
