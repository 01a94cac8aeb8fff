// Owns the way from one file's bytes to its facts: a pure function of path and bytes. Whatever the bytes are, it answers with
// facts: a file that cannot be parsed is a finding, one that cannot be read a record.

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type ParseResult, type ParserOptions, parseSync } from 'oxc-parser';
import {
  MAX_CALL_LINKS_PER_FILE,
  MAX_EVIDENCE_CHARS,
  MAX_EXPORTS_PER_FILE,
  MAX_FILE_BYTES,
  MAX_FINDINGS_PER_FILE,
  MAX_IMPORTS_PER_FILE,
  MAX_MESSAGE_CHARS,
  MAX_NAME_CHARS,
  MAX_NAMES_PER_IMPORT,
  MAX_PARSE_ERRORS_PER_FILE,
} from '../limits.ts';
import { compareBy, shorten } from '../order.ts';
import { isTestFile, languageOf } from '../paths.ts';
import { hardCodedCredentials } from '../rules/credential.ts';
import { dynamicCode } from '../rules/dynamic-code.ts';
import { recursion } from '../rules/recursion.ts';
import type { RawFinding } from '../rules/report-finding.ts';
import { shellCommand } from '../rules/shell-command.ts';
import { Redactor } from '../secrets.ts';
import type { Node } from './ast.ts';
import type { CallLink, ExportFact, FileFacts, Finding, ImportFact } from './facts.ts';
import { SEVERITIES } from './facts.ts';
import { moduleFacts } from './module-facts.ts';
import { tooDeep } from './nesting.ts';
import { isRelative } from './resolve.ts';
import { collect } from './scopes.ts';
import { SourceText } from './source-text.ts';

/** Reads and parses one file below `root`; `path` as discovery gave it. Never rejects: what is no longer a file of a size to be
 * read is recorded as unreadable. */
export async function readFacts(root: string, path: string): Promise<FileFacts> {
  let bytes: Uint8Array;
  try {
    bytes = await readSource(join(root, path));
  } catch {
    return { ...emptyFacts(path, new Uint8Array()), sha256: '', status: 'unreadable' };
  }
  return parseFile(path, bytes);
}

/** Between discovery and now the file may have become a link, a pipe or a giant; none of them is opened for long. */
async function readSource(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) throw new Error('not a file to be read');
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** The facts of one file. Invalid UTF-8 is read with replacement characters. */
export function parseFile(path: string, bytes: Uint8Array): FileFacts {
  const source = new SourceText(new TextDecoder().decode(bytes));
  const facts: FileFacts = { ...emptyFacts(path, bytes), lines: source.lineCount };
  const redactor = new Redactor();
  const deep = tooDeep(source.text);
  if (deep !== undefined) {
    const finding = { node: at(0, 0), message: `not parsed: ${deep}` };
    return { ...facts, status: 'unparsed', findings: [finish({ ...parseError, ...finding }, path, source, redactor)] };
  }
  const parsed = parseAnyDialect(path, source.text);
  const raw = parseErrors(parsed);
  if (parsed.program.body.length === 0 && raw.length > 0) {
    return { ...facts, status: 'unparsed', findings: raw.map((item) => finish(item, path, source, redactor)) };
  }
  return { ...facts, status: raw.length > 0 ? 'partial' : 'parsed', ...analyse(path, parsed, source, raw, redactor) };
}

const parseError = { rule: 'parse-error', severity: 'info' } as const;

function emptyFacts(path: string, bytes: Uint8Array): FileFacts {
  return {
    path,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes: bytes.length,
    lines: 0,
    language: languageOf(path),
    status: 'parsed',
    functions: 0,
    imports: [],
    exports: [],
    findings: [],
  };
}

/** Tries what the extension says, then JSX and CommonJS, which plain `.js` files may hold as well; the fewest errors win. */
function parseAnyDialect(path: string, text: string): ParseResult {
  const language = languageOf(path);
  const name = path.slice(path.lastIndexOf('/') + 1);
  const options: ParserOptions = { preserveParens: false, ...(language === 'dts' ? { lang: 'dts' } : {}) };
  const first = parseSync(name, text, options);
  if (first.errors.length === 0 || language !== 'js') return first;
  const others: ParserOptions[] = [
    { ...options, lang: 'jsx' },
    { ...options, sourceType: 'commonjs' },
    { ...options, sourceType: 'script' },
  ];
  for (const other of others) {
    const parsed = parseSync(name, text, other);
    if (parsed.errors.length === 0) return parsed;
  }
  return first;
}

function parseErrors(parsed: ParseResult): RawFinding[] {
  return parsed.errors.slice(0, MAX_PARSE_ERRORS_PER_FILE).map((error) => {
    const label = error.labels[0];
    return { ...parseError, node: at(label?.start ?? 0, label?.end ?? 0), message: error.message };
  });
}

/** A place in the source that is no node of the tree. */
function at(start: number, end: number): Node {
  return { type: 'EmptyStatement', start, end };
}

type Analysis = Pick<
  FileFacts,
  'imports' | 'exports' | 'findings' | 'functions' | 'calls' | 'executable' | 'opaqueImports' | 'cut'
>;

function analyse(
  path: string,
  parsed: ParseResult,
  source: SourceText,
  errors: RawFinding[],
  redactor: Redactor,
): Analysis {
  const program = parsed.program;
  const collected = collect(program);
  const modules = moduleFacts(program, collected, source);
  const calls = recursion(program, collected, source);
  const raw = [
    ...errors,
    ...dynamicCode(collected),
    ...shellCommand(collected),
    ...hardCodedCredentials(collected, source.text, redactor, isTestFile(path)),
    ...calls.findings,
  ];
  // Only now does the redactor know every secret of the file.
  const imports = limited(
    modules.imports.map((item) => tidyImport(item, redactor)).sort(inTreeFirst),
    MAX_IMPORTS_PER_FILE,
  );
  const exports = limited(
    modules.exports.map((item) => tidyExport(item, redactor)),
    MAX_EXPORTS_PER_FILE,
  );
  const links = limited(calls.calls.sort(byLink), MAX_CALL_LINKS_PER_FILE);
  const findings = limited(raw.sort(bySeverity), MAX_FINDINGS_PER_FILE);
  const cut = {
    ...(findings.cut > 0 ? { findings: findings.cut } : {}),
    ...(imports.cut > 0 ? { imports: imports.cut } : {}),
    ...(exports.cut > 0 ? { exports: exports.cut } : {}),
    ...(links.cut > 0 ? { calls: links.cut } : {}),
  };
  return {
    imports: imports.kept,
    exports: exports.kept,
    findings: findings.kept.map((item) => finish(item, path, source, redactor)),
    functions: calls.functionCount,
    ...(links.kept.length > 0 ? { calls: links.kept } : {}),
    ...(program.hashbang !== null ? { executable: true as const } : {}),
    ...(modules.opaqueImports > 0 ? { opaqueImports: modules.opaqueImports } : {}),
    ...(Object.keys(cut).length > 0 ? { cut } : {}),
  };
}

/** The most severe first, so that a cut takes the least; then by place. */
const bySeverity = compareBy<RawFinding>(
  (item) => SEVERITIES.indexOf(item.severity),
  (item) => item.node.start,
  (item) => item.rule,
);
const byLink = compareBy<CallLink>(
  (item) => item.name,
  (item) => item.from,
  (item) => item.to,
);
const inTreeFirst = compareBy<ImportFact>(
  (item) => (isRelative(item.from) || item.from.startsWith('#') ? 0 : 1),
  (item) => item.line,
);

function limited<T>(items: T[], max: number): { kept: T[]; cut: number } {
  return items.length <= max ? { kept: items, cut: 0 } : { kept: items.slice(0, max), cut: items.length - max };
}

function tidyImport(item: ImportFact, redactor: Redactor): ImportFact {
  const names =
    item.names.length > MAX_NAMES_PER_IMPORT ? ['*'] : item.names.map((name) => shorten(name, MAX_NAME_CHARS));
  return { ...item, from: tidySpecifier(item.from, redactor), names };
}

function tidyExport(item: ExportFact, redactor: Redactor): ExportFact {
  const name = shorten(item.name, MAX_NAME_CHARS);
  return { ...item, name, ...(item.from === undefined ? {} : { from: tidySpecifier(item.from, redactor) }) };
}

/** Relative specifiers stay as they are, or they would no longer resolve; others may be addresses with passwords in them. */
function tidySpecifier(specifier: string, redactor: Redactor): string {
  return shorten(isRelative(specifier) ? specifier : redactor.redactKnown(specifier), MAX_NAME_CHARS);
}

function finish(raw: RawFinding, path: string, source: SourceText, redactor: Redactor): Finding {
  // Masked before it is put on one line and shortened: a mask is shorter than what it hides.
  const text = redactor.redact(source.slice(raw.node.start, raw.node.end, MAX_EVIDENCE_CHARS * 4));
  return {
    rule: raw.rule,
    severity: raw.severity,
    file: path,
    ...source.position(raw.node.start),
    message: shorten(oneLine(redactor.redact(raw.message)), MAX_MESSAGE_CHARS),
    evidence: shorten(oneLine(text), MAX_EVIDENCE_CHARS),
  };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
