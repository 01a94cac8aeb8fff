/** Owns where the project's patterns stand: every literal and every `new RegExp` of the sources, with what it reads as. */

import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Node, parseSync, visitorKeys } from 'oxc-parser';

export interface FoundPattern {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** What stands for a part that is known at run time alone. */
const UNKNOWN = 'x';

/** Of the files of a package's or an example's `src`, but for tests and what they are made with. */
export function patternsOf(globs: readonly string[]): readonly FoundPattern[] {
  const files = globs.flatMap((glob) => globSync(glob, { cwd: ROOT })).sort();
  return files.filter((file) => !/\.test\.tsx?$|fixture/.test(file)).flatMap(patternsIn);
}

function patternsIn(file: string): readonly FoundPattern[] {
  const found: FoundPattern[] = [];
  walk(programOf(file), (node) => {
    if (node.type === 'Literal' && 'regex' in node && node.regex) {
      found.push({ file, source: node.regex.pattern, flags: node.regex.flags });
    }
    if (node.type !== 'NewExpression' || node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return;
    const [source, flags] = node.arguments as readonly Node[];
    found.push({ file, source: textOf(source!, file), flags: flags === undefined ? '' : textOf(flags, file) });
  });
  return found;
}

const programs = new Map<string, Node>();

function programOf(file: string): Node {
  const known = programs.get(file) ?? parseSync(file, readFileSync(join(ROOT, file), 'utf8')).program;
  programs.set(file, known);
  return known;
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Readonly<Record<string, Node | readonly (Node | null)[] | null>>)[key];
    for (const each of Array.isArray(child) ? child : [child]) if (each) walk(each, visit);
  }
}

/** What an expression reads as, constants of the file and of the files beside it among it. */
function textOf(node: Node, file: string): string {
  switch (node.type) {
    case 'Literal':
      return String(node.value);
    case 'TemplateLiteral':
      return node.quasis.map(({ value }, at) => value.cooked + partOf(node.expressions[at], file)).join('');
    case 'Identifier':
      return constantOf(node.name, file);
    case 'CallExpression':
      return joined(node, file) ?? UNKNOWN;
    default:
      return UNKNOWN;
  }
}

const partOf = (node: Node | undefined, file: string): string => (node === undefined ? '' : textOf(node, file));

/** `[…].join('|')`. */
function joined(node: Node & { readonly type: 'CallExpression' }, file: string): string | undefined {
  const { callee } = node;
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'ArrayExpression') return undefined;
  if (callee.property.type !== 'Identifier' || callee.property.name !== 'join') return undefined;
  return callee.object.elements.map((each) => textOf(each as Node, file)).join(partOf(node.arguments[0] as Node, file));
}

function constantOf(name: string, file: string): string {
  let text = UNKNOWN;
  walk(programOf(file), (node) => {
    if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.id.name === name && node.init) {
      text = textOf(node.init, file);
    }
    if (node.type !== 'ImportDeclaration' || !node.source.value.startsWith('.')) return;
    const isIt = node.specifiers.some(({ local, type }) => type === 'ImportSpecifier' && local.name === name);
    if (isIt) text = constantOf(name, join(dirname(file), node.source.value));
  });
  return text;
}
