// Owns the audit's notion of a path: relative to the audited root, forward slashes, no leading './'; and which files play a special part.

import type { Language } from './facts/facts.ts';

/** The extensions an audit reads, in the order in which resolution tries them after the declared ones. */
export const SOURCE_EXTENSIONS = ['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs'] as const;

const DECLARATION = /\.d\.(?:[\w-]+\.)?[mc]?ts$/;
const CONFIG_FILE = /(?:^|\/)(?:\.[\w-]+rc|[^/]*\.config|[^/]*\.workspace)\.[mc]?[jt]sx?$/;
const TEST_FILE = /\.(?:test|spec|bench|stories|e2e|test-d)\.[mc]?[jt]sx?$/;
const TEST_FOLDER = /(?:^|\/)(?:tests?|__tests__|__mocks__|e2e|fixtures|__fixtures__|examples?)\//;
const INDEX_FILE = /(?:^|\/)index(?:\.d)?\.[mc]?[jt]sx?$/;

export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? '' : name.slice(dot);
}

export function isSourceFile(path: string): boolean {
  return (SOURCE_EXTENSIONS as readonly string[]).includes(extensionOf(path));
}

export function isDeclarationFile(path: string): boolean {
  return DECLARATION.test(path);
}

export function isConfigFile(path: string): boolean {
  return CONFIG_FILE.test(path);
}

/** A test, a benchmark, a story, or anything in a folder of tests, fixtures or examples. */
export function isTestFile(path: string): boolean {
  return TEST_FILE.test(path) || TEST_FOLDER.test(path);
}

export function isIndexFile(path: string): boolean {
  return INDEX_FILE.test(path);
}

export function languageOf(path: string): Language {
  if (isDeclarationFile(path)) return 'dts';
  const extension = extensionOf(path);
  if (extension === '.tsx') return 'tsx';
  if (extension === '.jsx') return 'jsx';
  return extension.endsWith('ts') ? 'ts' : 'js';
}

/** The folder of a path, `.` for the root. */
export function folderOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '.' : path.slice(0, slash);
}

/** Joins a folder and a relative path and resolves `.` and `..`; undefined when that leaves the root. */
export function joinPath(folder: string, relative: string): string | undefined {
  const parts = folder === '.' ? [] : folder.split('/');
  for (const part of relative.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join('/');
}
