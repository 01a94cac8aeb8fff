// Owns what the audit takes from package.json and tsconfig.json: names, entry points, and path mappings.
// A manifest that cannot be read or is no JSON object is treated as absent; nothing in it is ever run.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { z } from 'zod';
import { keyName, type Node, unwrap } from './facts/ast.ts';
import { MAX_MANIFEST_BYTES, MAX_MANIFEST_ENTRIES } from './limits.ts';
import { compareText, sortedUnique } from './order.ts';
import { folderOf, isSourceFile, joinPath } from './paths.ts';

export const packageFactsSchema = z.object({
  /** Folder of the manifest, `.` for the root. */
  folder: z.string(),
  name: z.string().optional(),
  /** Targets of the package itself when it has no `exports`: source, module, main, browser, types; as written. */
  main: z.array(z.string()).optional(),
  /** Files that outsiders reach: main, module, browser, types, bin, and files named in scripts; relative to the root. */
  entries: z.array(z.string()),
  /** `exports`: subpath (`.`, `./x`, `./x/*`) to its targets in order of conditions. */
  exports: z.record(z.string(), z.array(z.string())).optional(),
  /** `imports`: `#name` to its targets. */
  imports: z.record(z.string(), z.array(z.string())).optional(),
  /** `compilerOptions.paths` of a tsconfig or jsconfig in the same folder: pattern to targets, relative to the root. */
  paths: z.record(z.string(), z.array(z.string())).optional(),
});
export type PackageFacts = z.infer<typeof packageFactsSchema>;
type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type JsonObject = { [key: string]: Json };

/** What one package.json, tsconfig.json or jsconfig.json says; undefined when it cannot be read. */
export async function readManifestFacts(root: string, path: string): Promise<PackageFacts | undefined> {
  const json = await readManifest(join(root, path));
  if (json === undefined) return undefined;
  const facts: PackageFacts = { folder: folderOf(path), entries: [] };
  if (path.endsWith('package.json')) addPackage(facts, json);
  else addPathMappings(facts, json);
  return facts;
}

/** One record a folder, by folder: what a package.json says, with the path mappings that lie beside it. */
export function joinPackages(records: readonly PackageFacts[]): PackageFacts[] {
  const byFolder = new Map<string, PackageFacts>();
  for (const record of records) {
    const known = byFolder.get(record.folder);
    const entries = sortedUnique([...(known?.entries ?? []), ...record.entries]);
    const paths = { ...known?.paths, ...record.paths };
    const joined = { ...known, ...record, entries };
    byFolder.set(record.folder, Object.keys(paths).length > 0 ? { ...joined, paths } : joined);
  }
  return [...byFolder.values()].sort((a, b) => compareText(a.folder, b.folder));
}

async function readManifest(path: string): Promise<JsonObject | undefined> {
  try {
    const bytes = await readFile(path);
    if (bytes.length > MAX_MANIFEST_BYTES) return undefined;
    const json = parseJsonWithComments(bytes.toString('utf8'));
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** JSON, with the comments and trailing commas that tsconfig files have. */
export function parseJsonWithComments(text: string): Json | undefined {
  const clean = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  try {
    return JSON.parse(clean) as Json;
  } catch {
    const parsed = parseSync('manifest.js', `(${clean}\n)`, { preserveParens: false });
    const statement = parsed.program.body[0];
    if (parsed.errors.length > 0 || statement?.type !== 'ExpressionStatement') return undefined;
    return jsonOf(statement.expression);
  }
}

function jsonOf(node: Node): Json | undefined {
  const inner = unwrap(node);
  if (inner.type === 'Literal') return typeof inner.value === 'object' ? null : (inner.value as Json);
  if (inner.type === 'ArrayExpression')
    return inner.elements.map((item) => (item === null ? null : (jsonOf(item) ?? null)));
  if (inner.type !== 'ObjectExpression') return undefined;
  const object: JsonObject = {};
  for (const item of inner.properties) {
    if (item.type !== 'Property') continue;
    const key = keyName(item.key, item.computed);
    const value = jsonOf(item.value);
    if (key !== undefined && key !== '__proto__' && value !== undefined) object[key] = value;
  }
  return object;
}

function addPackage(facts: PackageFacts, json: JsonObject): void {
  if (isText(json.name)) facts.name = json.name;
  const entries = new Set<string>();
  const fields = [
    'main',
    'module',
    'browser',
    'types',
    'typings',
    'source',
    'bin',
    'exports',
    'worker',
    'unpkg',
    'jsdelivr',
  ];
  for (const field of fields) for (const target of stringsIn(json[field])) addEntry(entries, facts.folder, target);
  for (const command of stringsIn(json.scripts)) {
    for (const word of command.split(/[\s'"=]+/)) if (isSourceFile(word)) addEntry(entries, facts.folder, word);
  }
  const main = ['source', 'module', 'main', 'browser', 'types', 'typings'].map((field) => json[field]).filter(isText);
  if (main.length > 0) facts.main = main;
  facts.entries = [...entries].sort(compareText).slice(0, MAX_MANIFEST_ENTRIES);
  const exported = exportTargets(json.exports);
  if (Object.keys(exported).length > 0) facts.exports = exported;
  const imported = isObject(json.imports) ? targetsByKey(json.imports) : {};
  if (Object.keys(imported).length > 0) facts.imports = imported;
}

function addEntry(entries: Set<string>, folder: string, target: string): void {
  const path = joinPath(folder, target);
  if (path !== undefined && path !== '') entries.add(path);
}

/** `exports` as a map of subpaths: a bare target or a bare set of conditions stands for `.`. */
function exportTargets(exports: Json | undefined): Record<string, string[]> {
  if (exports === undefined) return {};
  if (!isObject(exports) || !Object.keys(exports).some((key) => key.startsWith('.'))) {
    const targets = stringsIn(exports);
    return targets.length === 0 ? {} : { '.': targets };
  }
  return targetsByKey(exports);
}

function targetsByKey(object: JsonObject): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const key of Object.keys(object).slice(0, MAX_MANIFEST_ENTRIES)) {
    const targets = stringsIn(object[key]);
    if (targets.length > 0) found[key] = targets;
  }
  return found;
}

function addPathMappings(facts: PackageFacts, json: JsonObject): void {
  const options = json.compilerOptions;
  if (!isObject(options)) return;
  const base = joinPath(facts.folder, typeof options.baseUrl === 'string' ? options.baseUrl : '.');
  if (base === undefined) return;
  const paths: Record<string, string[]> = {};
  const declared = isObject(options.paths) ? targetsByKey(options.paths) : {};
  for (const [pattern, targets] of Object.entries(declared)) {
    const inTree = targets
      .map((target) => joinPath(base === '' ? '.' : base, target))
      .filter((path) => path !== undefined);
    if (inTree.length > 0) paths[pattern] = inTree;
  }
  if (typeof options.baseUrl === 'string' && paths['*'] === undefined) paths['*'] = [base === '' ? '*' : `${base}/*`];
  if (Object.keys(paths).length > 0) facts.paths = { ...facts.paths, ...paths };
}

/** Every string in a JSON value, in order, without repeats. */
function stringsIn(value: Json | undefined): string[] {
  const found = new Set<string>();
  const pending: (Json | undefined)[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === 'string') found.add(next);
    else if (Array.isArray(next)) pending.push(...[...next].reverse());
    else if (isObject(next)) pending.push(...Object.values(next).reverse());
  }
  return [...found];
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string' && value !== '';
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
