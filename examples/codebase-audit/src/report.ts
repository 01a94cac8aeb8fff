// Owns the two reports of an audit. Both are functions of the audit and the summaries alone: no clock, no absolute path, no
// locale, so that equal input gives equal bytes however often the work in between was interrupted.

import type { Finding, Rule } from './facts/facts.ts';
import type { Audit, Incomplete } from './facts/merge.ts';
import type { ModuleSummary } from './facts/modules.ts';
import { MAX_CYCLE_FILES_SHOWN, MAX_REPORT_ROWS } from './limits.ts';
import { compareText } from './order.ts';

/** What a model said about a module. */
export type ModuleText = { module: string; text: string; model: string };

export const REPORT_VERSION = 1;

const RULE_TITLES: Readonly<Record<Rule, string>> = {
  'dynamic-code': 'Code made from text',
  'shell-command': 'Shell commands built from strings',
  'hard-coded-credential': 'Hard-coded credentials',
  'unbounded-recursion': 'Unbounded recursion',
  'parse-error': 'Files that do not parse',
  'import-cycle': 'Import cycles',
  'dead-export': 'Dead exports',
};

export function jsonReport(audit: Audit, summaries: readonly ModuleText[] = []): string {
  return `${JSON.stringify({ reportVersion: REPORT_VERSION, ...audit, summaries: inOrder(summaries) }, undefined, 2)}\n`;
}

export function markdownReport(audit: Audit, summaries: readonly ModuleText[] = []): string {
  const sections = [
    [`# Audit of ${inline(audit.label)}`],
    overview(audit),
    findingSections(audit),
    cycleSection(audit),
    deadExportSection(audit),
    moduleSection(audit.modules),
    summarySection(summaries),
    dependencySection(audit),
    incompleteSection(audit.incomplete),
  ];
  const lines = sections.filter((section) => section.length > 0).map((section) => section.join('\n'));
  return `${lines.join('\n\n')}\n`;
}

function overview({ totals }: Audit): string[] {
  const severities = Object.entries(totals.findings).map(([name, count]) => `${count} ${name}`);
  return [
    ...table(
      ['files', 'lines', 'bytes', 'modules', 'functions', 'imports', 'exports'],
      [[totals.files, totals.lines, totals.bytes, totals.modules, totals.functions, totals.imports, totals.exports]],
    ),
    '',
    `Findings: ${severities.join(', ')}.`,
    '',
    ...table(
      ['rule', 'findings'],
      Object.entries(totals.findingsByRule).map(([rule, count]) => [RULE_TITLES[rule as Rule], count]),
    ),
  ];
}

/** The rules whose findings have a place and evidence of their own, one table each. */
function findingSections({ findings }: Audit): string[] {
  const rules: Rule[] = [
    'hard-coded-credential',
    'shell-command',
    'dynamic-code',
    'unbounded-recursion',
    'parse-error',
  ];
  const lines: string[] = [];
  for (const rule of rules) {
    const rows = findings.filter((finding) => finding.rule === rule);
    if (rows.length === 0) continue;
    if (lines.length > 0) lines.push('');
    lines.push(
      `## ${RULE_TITLES[rule]}`,
      '',
      ...limitedTable(['severity', 'where', 'what', 'evidence'], rows, findingRow),
    );
  }
  return lines.length > 0 ? lines : ['## Findings', '', 'None in any single file.'];
}

function findingRow(finding: Finding): string[] {
  const where = `${finding.file}:${finding.line}:${finding.column}`;
  return [
    finding.severity,
    code(where),
    inline(finding.message),
    finding.evidence === '' ? '' : code(finding.evidence),
  ];
}

function cycleSection({ cycles }: Audit): string[] {
  if (cycles.length === 0) return ['## Import cycles', '', 'None.'];
  const rows = limitedTable(['files', 'a shortest way round'], cycles, ({ files, cycle }) => {
    const shown = cycle.slice(0, MAX_CYCLE_FILES_SHOWN).map(code);
    const rest = cycle.length > shown.length ? [`… (${cycle.length - shown.length} more)`] : [];
    return [files.length, [...shown, ...rest, code(cycle[0]!)].join(' → ')];
  });
  return [
    '## Import cycles',
    '',
    'Type-only and dynamic imports are left out: they cannot deadlock a start.',
    '',
    ...rows,
  ];
}

function deadExportSection({ deadExports }: Audit): string[] {
  if (deadExports.length === 0) return ['## Dead exports', '', 'None.'];
  const byFile = new Map<string, Audit['deadExports']>();
  for (const item of deadExports) byFile.set(item.file, [...(byFile.get(item.file) ?? []), item]);
  const note = [
    'Exports that no audited file imports; *own file* marks those that are used where they are declared.',
    'Entry points, index, config, declaration and test files are not judged.',
  ];
  const rows = limitedTable(['file', 'exports', 'imported at all'], [...byFile], ([file, items]) => [
    code(file),
    items.map(deadName).join(', '),
    items[0]!.unimported === true ? 'no' : 'yes',
  ]);
  return ['## Dead exports', '', ...note, '', ...rows];
}

function deadName({ name, line, local }: Audit['deadExports'][number]): string {
  return `${code(name === '=' ? 'module.exports' : name)} (${line}${local === true ? ', *own file*' : ''})`;
}

function moduleSection(modules: readonly ModuleSummary[]): string[] {
  const rows = limitedTable(
    ['module', 'files', 'lines', 'functions', 'exports', 'uses', 'used by', 'packages', 'findings'],
    modules,
    (module) => [
      code(module.path),
      module.files,
      module.lines,
      module.functions,
      module.exports,
      module.uses.length,
      module.usedBy.length,
      module.external.length,
      Object.values(module.findings).reduce((total, count) => total + count, 0),
    ],
  );
  return ['## Modules', '', 'A module is a folder with the files directly in it.', '', ...rows];
}

function summarySection(summaries: readonly ModuleText[]): string[] {
  if (summaries.length === 0) return [];
  const lines = [
    '## What the modules do',
    '',
    'Written by a language model from the facts above, not from the source.',
  ];
  for (const { module, text, model } of inOrder(summaries)) {
    const quoted = text.split('\n').map((line) => `> ${inline(line)}`.trimEnd());
    lines.push('', `### ${inline(module)}`, '', ...quoted, '', `(${inline(model)})`);
  }
  return lines;
}

function dependencySection({ files, external, builtins }: Audit): string[] {
  const used = files.filter((file) => file.importedBy > 0);
  used.sort((a, b) => b.importedBy - a.importedBy || compareText(a.path, b.path));
  const edges = files.reduce((total, file) => total + file.imports.length, 0);
  const lines = ['## Dependencies', '', `${edges} imports between files of the tree; the JSON report has each one.`];
  const most = used.slice(0, 20);
  if (most.length > 0)
    lines.push(
      '',
      ...table(
        ['most imported file', 'by files'],
        most.map((file) => [code(file.path), file.importedBy]),
      ),
    );
  const packages = [...external, ...builtins.map(({ name, files: count }) => ({ name: `node:${name}`, files: count }))];
  if (packages.length > 0) {
    lines.push(
      '',
      ...limitedTable(['package', 'imported by files'], packages, (item) => [code(item.name), item.files]),
    );
  }
  return lines;
}

function incompleteSection(incomplete: Incomplete): string[] {
  const lines: string[] = [];
  for (const { path, reason, bytes } of incomplete.skipped.slice(0, MAX_REPORT_ROWS)) {
    lines.push(`- ${code(path)} was skipped: ${reason}${bytes === undefined ? '' : ` (${bytes} bytes)`}.`);
  }
  const hidden = incomplete.skippedCut + Math.max(0, incomplete.skipped.length - MAX_REPORT_ROWS);
  if (hidden > 0) lines.push(`- ${hidden} more entries were skipped.`);
  if (incomplete.filesCut > 0) lines.push(`- ${incomplete.filesCut} source files were beyond the limit of one audit.`);
  const { unparsed, unreadable } = incomplete;
  if (unreadable.length > 0) lines.push(`- Could not be read: ${list(unreadable)}.`);
  if (unparsed.length > 0) {
    lines.push(`- Not parsed, so what they import is unknown and may be listed as dead: ${list(unparsed)}.`);
  }
  for (const { file, findings, imports, exports } of incomplete.cut.slice(0, MAX_REPORT_ROWS)) {
    lines.push(
      `- ${code(file)} is over a limit: left out are ${findings} findings, ${imports} imports, ${exports} exports.`,
    );
  }
  if (incomplete.unresolvedImports > 0) {
    lines.push(`- ${incomplete.unresolvedImports} imports name no audited file (assets, generated or skipped files).`);
  }
  if (incomplete.opaqueImports > 0) lines.push(`- ${incomplete.opaqueImports} imports have a computed specifier.`);
  if (incomplete.symlinks > 0) lines.push(`- ${incomplete.symlinks} symbolic links were not followed.`);
  return lines.length === 0 ? [] : ['## What this audit does not know', '', ...lines];
}

function list(paths: readonly string[]): string {
  const shown = paths.slice(0, 20).map(code).join(', ');
  return paths.length > 20 ? `${shown} and ${paths.length - 20} more` : shown;
}

type Cell = string | number;

function limitedTable<T>(head: readonly string[], items: readonly T[], row: (item: T) => Cell[]): string[] {
  const lines = table(head, items.slice(0, MAX_REPORT_ROWS).map(row));
  if (items.length > MAX_REPORT_ROWS)
    lines.push('', `… and ${items.length - MAX_REPORT_ROWS} more in the JSON report.`);
  return lines;
}

function table(head: readonly string[], rows: readonly Cell[][]): string[] {
  const line = (cells: readonly Cell[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)];
}

/** Text from the audited tree, harmless in Markdown. */
function inline(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_[\]|#]/g, '\\$&')
    .replaceAll('<', '&lt;');
}

/** A code span around any text, also in a table. */
function code(text: string): string {
  const ticks = Math.max(0, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
  const fence = '`'.repeat(ticks + 1);
  const pad = ticks > 0 ? ' ' : '';
  return `${fence}${pad}${text.replace(/\s+/g, ' ').replaceAll('|', '\\|')}${pad}${fence}`;
}

function inOrder(summaries: readonly ModuleText[]): ModuleText[] {
  return [...summaries].sort((a, b) => compareText(a.module, b.module));
}
