// Owns two questions about an expression: which member of which module is it, and is its text a constant.
// Both follow `const` aliases, never reassigned names, and answer "unknown" when in doubt.

import { MAX_ALIAS_STEPS } from '../limits.ts';
import { argument, literalText, memberName, type Node, unwrap } from './ast.ts';
import { loadedModule } from './module-facts.ts';
import type { Binding, Scope } from './scopes.ts';

/** `constant`; `built` from parts that are not all constant; or `unknown` (a parameter, an import, a call). */
export type TextOrigin = 'constant' | 'built' | 'unknown';
export type ModuleMember = { module: string; member: string };

/** The module member an expression stands for, such as `child_process` and `exec`; `*` is the module itself. */
export function moduleMember(node: Node, scope: Scope, steps = MAX_ALIAS_STEPS): ModuleMember | undefined {
  if (steps <= 0) return undefined;
  const inner = unwrap(node);
  if (inner.type === 'Identifier') return memberOfBinding(scope.lookup(inner.name), steps);
  const loaded = loadedModule(inner, scope);
  if (loaded !== undefined) return { module: bare(loaded), member: '*' };
  if (inner.type === 'MemberExpression') {
    const name = memberName(inner);
    return name === undefined ? undefined : memberOf(moduleMember(inner.object, scope, steps - 1), name);
  }
  if (inner.type !== 'CallExpression') return undefined;
  // promisify(exec), util.promisify(cp.exec), cp.exec.bind(cp)
  const callee = unwrap(inner.callee);
  const called =
    callee.type === 'Identifier' ? callee.name : callee.type === 'MemberExpression' ? memberName(callee) : '';
  const first = argument(inner, 0);
  if (called === 'promisify' && first !== undefined) return moduleMember(first, scope, steps - 1);
  if (called === 'bind' && callee.type === 'MemberExpression') return moduleMember(callee.object, scope, steps - 1);
  return undefined;
}

function memberOfBinding(binding: Binding | undefined, steps: number): ModuleMember | undefined {
  if (binding === undefined) return undefined;
  if (binding.source !== undefined) {
    const { module, name } = binding.source;
    return { module: bare(module), member: name === 'default' ? '*' : name };
  }
  if (binding.reassigned || binding.node === undefined || binding.scope === undefined) return undefined;
  if (binding.kind === 'function' || binding.kind === 'class') return undefined;
  const whole = moduleMember(binding.node, binding.scope, steps - 1);
  if (!binding.destructured) return whole;
  return binding.property === undefined ? undefined : memberOf(whole, binding.property);
}

function memberOf(whole: ModuleMember | undefined, name: string): ModuleMember | undefined {
  if (whole === undefined || whole.member !== '*') return undefined;
  return name === 'default' ? whole : { module: whole.module, member: name };
}

function bare(module: string): string {
  return module.startsWith('node:') ? module.slice(5) : module;
}

/** The initialiser of a name that is never written again. */
export function constantInit(node: Node, scope: Scope): Node | undefined {
  if (node.type !== 'Identifier') return undefined;
  const binding = scope.lookup(node.name);
  if (binding === undefined || binding.reassigned || binding.destructured) return undefined;
  const isVariable = binding.kind === 'const' || binding.kind === 'let' || binding.kind === 'var';
  return isVariable ? binding.node : undefined;
}

/** Whether an expression's text is fixed in the source, put together at run time, or comes from elsewhere. */
export function textOrigin(node: Node, scope: Scope, steps = MAX_ALIAS_STEPS): TextOrigin {
  if (steps <= 0) return 'unknown';
  const inner = unwrap(node);
  const follow = (next: Node) => textOrigin(next, scope, steps - 1);
  switch (inner.type) {
    case 'Literal':
      return 'constant';
    case 'TemplateLiteral':
      return inner.expressions.every((part) => isHarmless(part) || follow(part) === 'constant') ? 'constant' : 'built';
    case 'BinaryExpression':
      return inner.operator === '+' ? concatenation(inner, scope, steps) : 'constant';
    case 'ConditionalExpression':
      return worse(follow(inner.consequent), follow(inner.alternate));
    case 'LogicalExpression':
      return worse(follow(inner.left), follow(inner.right));
    case 'AssignmentExpression':
      return inner.operator === '+=' ? 'built' : follow(inner.right);
    case 'Identifier': {
      const binding = scope.lookup(inner.name);
      if (binding?.appended) return 'built';
      const init = constantInit(inner, scope);
      if (init === undefined) return isHarmless(inner) ? 'constant' : 'unknown';
      return textOrigin(init, binding?.scope ?? scope, steps - 1);
    }
    case 'MemberExpression':
      return isHarmless(inner) ? 'constant' : 'unknown';
    case 'CallExpression':
      return callOrigin(inner, scope, steps);
    case 'TaggedTemplateExpression':
      return inner.tag.type === 'MemberExpression' && memberName(inner.tag) === 'raw' ? follow(inner.quasi) : 'unknown';
    default:
      return 'unknown';
  }
}

/** Goes down the left side of `a + b + c` in a loop: such chains can be thousands of links long. */
function concatenation(node: Node, scope: Scope, steps: number): TextOrigin {
  let left: Node = node;
  while (left.type === 'BinaryExpression' && left.operator === '+') {
    if (!isHarmless(left.right) && textOrigin(left.right, scope, steps - 1) !== 'constant') return 'built';
    left = unwrap(left.left);
  }
  return isHarmless(left) || textOrigin(left, scope, steps - 1) === 'constant' ? 'constant' : 'built';
}

function callOrigin(call: Extract<Node, { type: 'CallExpression' }>, scope: Scope, steps: number): TextOrigin {
  const callee = unwrap(call.callee);
  const name =
    callee.type === 'Identifier' ? callee.name : callee.type === 'MemberExpression' ? memberName(callee) : undefined;
  if (name === undefined) return 'unknown';
  if (/(?:escape|quote)/i.test(name)) return 'constant';
  if (callee.type !== 'MemberExpression') return name === 'format' ? 'built' : 'unknown';
  const object = unwrap(callee.object);
  const follow = (next: Node) => textOrigin(next, scope, steps - 1);
  if (name === 'join') {
    const list = constantInit(object, scope) ?? object;
    if (unwrap(list).type !== 'ArrayExpression')
      return moduleMember(object, scope)?.module === 'path' ? 'unknown' : 'built';
    const items = (unwrap(list) as Extract<Node, { type: 'ArrayExpression' }>).elements;
    const constant = items.every(
      (item) => item !== null && item.type !== 'SpreadElement' && follow(item) === 'constant',
    );
    return constant ? 'constant' : 'built';
  }
  if (name === 'concat' || name === 'format') {
    const parts = call.arguments.every((item) => item.type !== 'SpreadElement' && follow(item) === 'constant');
    return parts && (name === 'format' || follow(object) === 'constant') ? 'constant' : 'built';
  }
  return /^(?:trim|trimEnd|trimStart|toString|replace|replaceAll|slice|toLowerCase)$/.test(name)
    ? follow(object)
    : 'unknown';
}

function worse(a: TextOrigin, b: TextOrigin): TextOrigin {
  if (a === 'built' || b === 'built') return 'built';
  return a === 'unknown' || b === 'unknown' ? 'unknown' : 'constant';
}

const HARMLESS_MEMBERS = /^(?:length|size|pid|execPath|platform|arch|sep|EOL|dirname|filename|url)$/;
const HARMLESS_OWNERS = /^(?:process|path|os)$/;

/** Parts that carry nothing a stranger could have written: numbers, lengths, the program's own place. */
function isHarmless(node: Node): boolean {
  const inner = unwrap(node);
  if (inner.type === 'Identifier') return inner.name === '__dirname' || inner.name === '__filename';
  if (inner.type !== 'MemberExpression') return false;
  const name = memberName(inner);
  if (name === undefined || !HARMLESS_MEMBERS.test(name)) return false;
  if (name === 'length' || name === 'size' || inner.object.type === 'MetaProperty') return true;
  return inner.object.type === 'Identifier' && HARMLESS_OWNERS.test(inner.object.name);
}

/** A property of an object literal, also through a `const` (the last one of that name); undefined when it isn't there to see. */
export function optionValue(node: Node | undefined, name: string, scope: Scope): Node | undefined {
  if (node === undefined) return undefined;
  const inner = unwrap(node);
  const object = unwrap(constantInit(inner, scope) ?? inner);
  if (object.type !== 'ObjectExpression') return undefined;
  let found: Node | undefined;
  for (const item of object.properties) {
    if (item.type === 'SpreadElement') continue;
    const key = item.key.type === 'Identifier' && !item.computed ? item.key.name : literalText(item.key);
    if (key === name) found = item.value;
  }
  return found;
}
