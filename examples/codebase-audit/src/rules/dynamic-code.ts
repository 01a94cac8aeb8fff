// Owns the rule `dynamic-code`: text that becomes running code. A constant text is the milder case: what runs is at least
// in the source. Not covered: `innerHTML` and other ways into a browser's page.

import { argument, type CallNode, memberName, type Node, unwrap } from '../facts/ast.ts';
import type { Severity } from '../facts/facts.ts';
import type { Collected, Scope } from '../facts/scopes.ts';
import { constantInit, moduleMember, type TextOrigin, textOrigin } from '../facts/values.ts';
import type { RawFinding } from './report-finding.ts';

const GLOBAL_OBJECTS = new Set(['globalThis', 'window', 'global', 'self']);
const TIMERS = new Set(['setTimeout', 'setInterval', 'setImmediate', 'execScript']);
const VM_MEMBERS = new Set([
  'runInNewContext',
  'runInThisContext',
  'runInContext',
  'compileFunction',
  'Script',
  'SourceTextModule',
]);

export function dynamicCode(collected: Collected): RawFinding[] {
  const found: RawFinding[] = [];
  for (const { node, scope } of collected.of('CallExpression')) {
    const finding = ofCall(node, scope);
    if (finding !== undefined) found.push(finding);
  }
  for (const { node, scope } of collected.of('NewExpression')) {
    const finding = ofCall(node, scope);
    if (finding !== undefined) found.push(finding);
  }
  for (const { node, scope } of collected.of('ImportExpression')) {
    const source = unwrap(node.source);
    const start = source.type === 'TemplateLiteral' ? source.quasis[0]?.value.cooked : leftmostText(source);
    if (start?.startsWith('data:text/javascript')) {
      found.push(finding(node, textOrigin(source, scope), 'imports a module written as a data URL'));
    }
  }
  return found;
}

function ofCall(node: CallNode, scope: Scope): RawFinding | undefined {
  const callee = unwrap(node.callee);
  const first = argument(node, 0);
  const name = globalName(callee, scope);
  if (name === 'eval' && node.type === 'CallExpression') {
    return node.arguments.length === 0 ? undefined : finding(node, originOf(first, scope), 'eval runs text as code');
  }
  if (name === 'Function' || isFunctionConstructor(callee, scope)) {
    return node.arguments.length === 0
      ? undefined
      : finding(node, worstArgument(node, scope), 'a function is made from text');
  }
  if (name !== undefined && TIMERS.has(name) && first !== undefined && isText(first, scope)) {
    return finding(node, textOrigin(first, scope), `${name} is given text to run as code`);
  }
  const member = moduleMember(callee, scope);
  if (member?.module === 'vm' && VM_MEMBERS.has(member.member)) {
    return finding(node, originOf(first, scope), `vm.${member.member} runs text as code`);
  }
  return undefined;
}

function finding(node: Node, origin: TextOrigin, what: string): RawFinding {
  const severity: Severity = origin === 'constant' ? 'low' : 'high';
  const source =
    origin === 'constant'
      ? 'a constant text'
      : origin === 'built'
        ? 'text put together at run time'
        : 'text from elsewhere';
  return { rule: 'dynamic-code', severity, node, message: `${what}: ${source}` };
}

function originOf(node: Node | undefined, scope: Scope): TextOrigin {
  return node === undefined ? 'unknown' : textOrigin(node, scope);
}

function worstArgument(node: CallNode, scope: Scope): TextOrigin {
  const origins = node.arguments.map((item) => (item.type === 'SpreadElement' ? 'unknown' : textOrigin(item, scope)));
  return origins.includes('built') ? 'built' : origins.includes('unknown') ? 'unknown' : 'constant';
}

/** The name of a global that nothing in the file declares: `eval`, `globalThis.eval`. */
function globalName(callee: Node, scope: Scope): string | undefined {
  if (callee.type === 'Identifier') return scope.lookup(callee.name) === undefined ? callee.name : undefined;
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return undefined;
  const owner = callee.object.name;
  return GLOBAL_OBJECTS.has(owner) && scope.lookup(owner) === undefined ? memberName(callee) : undefined;
}

/** `Object.getPrototypeOf(async function () {}).constructor`, directly or through a `const`, and `(() => {}).constructor`. */
function isFunctionConstructor(callee: Node, scope: Scope): boolean {
  const node = unwrap(constantInit(callee, scope) ?? callee);
  if (node.type !== 'MemberExpression' || memberName(node) !== 'constructor') return false;
  let object = unwrap(node.object);
  if (object.type === 'CallExpression' && object.callee.type === 'MemberExpression') {
    const first = argument(object, 0);
    if (memberName(object.callee) !== 'getPrototypeOf' || first === undefined) return false;
    object = unwrap(first);
  }
  return object.type === 'FunctionExpression' || object.type === 'ArrowFunctionExpression';
}

/** Surely text, rather than a function: a timer's first argument is nearly always one or the other. */
function isText(node: Node, scope: Scope): boolean {
  const inner = unwrap(node);
  const value = unwrap(constantInit(inner, scope) ?? inner);
  if (value.type === 'Literal') return typeof value.value === 'string' && value.value.trim() !== '';
  if (value.type === 'TemplateLiteral') return true;
  return value.type === 'BinaryExpression' && value.operator === '+' && leftmostText(value) !== undefined;
}

/** The text literal with which a concatenation begins. */
function leftmostText(node: Node): string | undefined {
  let left: Node = node;
  while (left.type === 'BinaryExpression' && left.operator === '+') left = unwrap(left.left);
  return left.type === 'Literal' && typeof left.value === 'string' ? left.value : undefined;
}
