/** Owns the rules about a single file: its size, its exports, and, in core, what it may use. Must read no files. */
import type { Node } from 'oxc-parser';
import { pureFolder, testkitFolder } from './layers.ts';
import { childrenOf } from './nodes.ts';
import { isRoomDoor } from './rooms.ts';
import type { SourceFile } from './tree.ts';
import { lineOf, type Violation } from './violation.ts';

/** A file of more lines must be split. Tests may be longer. */
const fileLinesMax = 600;
/** A longer function doesn't fit on a screen. A contract suite is one function, and a list of tests. */
const functionLinesMax = 80;
const suites = `${testkitFolder}/src/contracts/`;
/** vitest and vite read their configuration from a default export. */
const defaultExportFiles = /(^|\/)(vitest|vite)\.config\.ts$/;

/** Packages by which people read what happened to a workflow. Traces draw spans from the states before and after an event instead. */
const readerFolders = new Set(['console', 'cli', 'mcp'].map((name) => `libs/operate/${name}`)).add('libs/author/files');
const EVENT_CASE =
  /case '(?:Workflow|Lease|Effect|Checkpoint|Step|Signal|Timer|Approval|Retry|Cancel|Pause|Resume|Compensation|Child|Budget|Record|Version|Memory|Rules)[A-Z][a-z]+'/g;

export function checkFile(file: SourceFile): Violation[] {
  return [
    ...checkSyntax(file),
    ...checkSize(file),
    ...(file.isTest || file.file.startsWith(suites) ? [] : checkFunctions(file)),
    ...checkExports(file),
    ...(file.owner.folder === pureFolder && !file.isTest ? checkGlobals(file) : []),
    ...(readerFolders.has(file.owner.folder) && !file.isTest ? checkEventWords(file) : []),
  ];
}

/** A switch over types of events here would say a second time what core's timeline says of them. */
function checkEventWords({ file, source }: SourceFile): Violation[] {
  const message = "take what it says from '@tidemark/core/timeline', which describes every type of event";
  return [...source.matchAll(EVENT_CASE)].map(({ index }) => ({
    ...{ rule: 'event-words', file, line: lineOf(source, index), message },
  }));
}

function checkSyntax(file: SourceFile): Violation[] {
  const error = file.parsed.errors[0];
  return error === undefined ? [] : [{ rule: 'syntax', file: file.file, line: 1, message: error.message }];
}

function checkSize(file: SourceFile): Violation[] {
  const lines = file.source.split('\n').length - 1;
  if (file.isTest || lines <= fileLinesMax) return [];
  return [{ rule: 'file-size', file: file.file, line: lines, message: `${lines} lines, at most ${fileLinesMax}` }];
}

function checkFunctions(file: SourceFile): Violation[] {
  const violations: Violation[] = [];
  const visit = (node: Node): void => {
    const isFunction = /^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(node.type);
    const line = isFunction ? lineOf(file.source, node.start) : 0;
    const lines = isFunction ? lineOf(file.source, node.end) - line + 1 : 0;
    if (lines > functionLinesMax) {
      const message = `a function of ${lines} lines, at most ${functionLinesMax}`;
      violations.push({ rule: 'function-size', file: file.file, line, message });
    }
    for (const [, child] of childrenOf(node)) visit(child);
  };
  visit(file.parsed.program);
  return violations;
}

function checkExports(file: SourceFile): Violation[] {
  const { body } = file.parsed.program;
  const violations: Violation[] = [];
  const add = (rule: Violation['rule'], start: number, message: string): void => {
    violations.push({ rule, file: file.file, line: lineOf(file.source, start), message });
  };
  for (const statement of body) {
    const isDefault =
      statement.type === 'ExportDefaultDeclaration' ||
      (statement.type === 'ExportNamedDeclaration' && statement.specifiers.some(exportsDefault));
    if (isDefault && !defaultExportFiles.test(file.file)) {
      add('default-export', statement.start, 'export it by a name');
    }
    if (statement.type === 'ExportAllDeclaration') add('star-export', statement.start, 'say by name what is exported');
  }
  const isDoor = [...file.owner.doors.values()].includes(file.file);
  const reexportsOnly = body.length > 0 && body.every((s) => s.type === 'ExportNamedDeclaration' && s.source !== null);
  if (reexportsOnly && !isDoor && !isRoomDoor(file.file)) {
    add('inner-barrel', 0, 'only re-exports, and is no door of its package or room: import from the files themselves');
  }
  return violations;
}

function exportsDefault(specifier: { readonly exported: Node }): boolean {
  return specifier.exported.type === 'Identifier' && specifier.exported.name === 'default';
}

/** Time, randomness, scheduling and I/O come into core as arguments. */
const bannedGlobals = new Set([
  'performance',
  'process',
  'console',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'fetch',
  'crypto',
  'globalThis',
  'require',
]);
const pureDateMembers = new Set(['UTC', 'parse', 'prototype']);

function checkGlobals(file: SourceFile): Violation[] {
  const violations: Violation[] = [];
  const visit = (node: Node, parent: Node | undefined, key: string): void => {
    const banned = bannedIn(node, parent, key);
    if (banned !== undefined) {
      const message = `core may not use ${banned}: take it as an argument`;
      violations.push({ rule: 'core-globals', file: file.file, line: lineOf(file.source, node.start), message });
    }
    for (const [childKey, child] of childrenOf(node)) visit(child, node, childKey);
  };
  visit(file.parsed.program, undefined, '');
  return violations;
}

function bannedIn(node: Node, parent: Node | undefined, key: string): string | undefined {
  if (node.type === 'ImportExpression') return 'import()';
  if (node.type !== 'Identifier' || parent === undefined || !isReference(parent, key)) return undefined;
  if (bannedGlobals.has(node.name)) return node.name;
  if (node.name === 'Date' && !isPureDate(parent, key)) return 'the clock (Date)';
  if (node.name === 'Math' && memberName(parent, key) === 'random') return 'Math.random';
  // Taking Math apart or passing it on would hide the use of its random.
  if (node.name === 'Math' && memberName(parent, key) === undefined) return 'Math as a value';
  return undefined;
}

/** Names of properties, keys, labels and types are not references to a global. */
function isReference(parent: Node, key: string): boolean {
  if (parent.type === 'MemberExpression') return key === 'object' || parent.computed;
  if (parent.type === 'Property' || parent.type === 'PropertyDefinition' || parent.type === 'MethodDefinition') {
    return key === 'value' || parent.computed;
  }
  return parent.type !== 'ExportSpecifier' && parent.type !== 'ImportSpecifier' && !isTypeOnly(parent);
}

function isTypeOnly(parent: Node): boolean {
  const expressions = ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression', 'TSTypeAssertion'];
  return parent.type.startsWith('TS') && !expressions.includes(parent.type);
}

/** `new Date(ms)` only converts; `new Date()` and `Date.now()` read the clock. */
function isPureDate(parent: Node, key: string): boolean {
  if (parent.type === 'NewExpression') return key === 'callee' && parent.arguments.length > 0;
  return pureDateMembers.has(memberName(parent, key) ?? '') || (parent.type === 'BinaryExpression' && key === 'right');
}

function memberName(parent: Node, key: string): string | undefined {
  if (parent.type !== 'MemberExpression' || key !== 'object' || parent.computed) return undefined;
  return parent.property.type === 'Identifier' ? parent.property.name : undefined;
}
