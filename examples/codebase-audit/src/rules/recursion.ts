// Owns the rule `unbounded-recursion` within one file, and the call links from which merging finds it across files.
// A function counts when it calls itself on every path (must-calls.ts), directly or through others of the file. Calls through
// `this` count only for the method itself and for private ones, which no subclass can replace.

import type { Program } from 'oxc-parser';
import {
  type CallNode,
  type FunctionNode,
  isFunction,
  keyName,
  type MemberNode,
  memberName,
  type Node,
  unwrap,
} from '../facts/ast.ts';
import type { CallLink } from '../facts/facts.ts';
import { cyclicComponents } from '../facts/graph.ts';
import { isRelative } from '../facts/resolve.ts';
import type { Binding, Collected, Scope } from '../facts/scopes.ts';
import type { SourceText } from '../facts/source-text.ts';
import { moduleMember } from '../facts/values.ts';
import { type Calls, mustCalls, type TargetOf } from './must-calls.ts';
import type { RawFinding } from './report-finding.ts';

/** A function of this file, or a function of another one as `specifier` and name. */
type Target = FunctionNode | `${string}\n${string}`;
/** How a function is reached through `this`. */
type Member = { owner: Node; key: string };

export type RecursionResult = { findings: RawFinding[]; calls: CallLink[]; functionCount: number };

export function recursion(program: Program, collected: Collected, source: SourceText): RecursionResult {
  const functions = functionsOf(collected);
  const members = membersOf(collected);
  const scopes = new Map<Node, Scope>();
  for (const { node, scope } of collected.of('CallExpression')) scopes.set(node, scope);
  for (const { node, scope } of collected.of('NewExpression')) scopes.set(node, scope);
  const replaced = replacedMembers(collected);

  const calls = new Map<FunctionNode, Calls<Target>>();
  for (const fn of functions.keys()) {
    const member = members.byFunction.get(fn);
    const own = member !== undefined && isSelfReplacing(fn, member.key, source) ? undefined : member;
    const made = mustCalls(fn, targets(fn, own, members, scopes, replaced));
    if (made.size > 0) calls.set(fn, made);
  }
  return {
    findings: findings(calls, functions),
    calls: links(program, collected, calls, source),
    functionCount: functions.size,
  };
}

/** All functions with a body, in source order, with a name to show. */
function functionsOf(collected: Collected): Map<FunctionNode, string> {
  const sites = [
    ...collected.of('FunctionDeclaration'),
    ...collected.of('FunctionExpression'),
    ...collected.of('ArrowFunctionExpression'),
  ].filter(({ node }) => isFunction(node) && node.body !== null);
  sites.sort((a, b) => a.node.start - b.node.start);
  const found = new Map<FunctionNode, string>();
  for (const { node, parent } of sites) if (isFunction(node)) found.set(node, nameFor(node, parent));
  return found;
}

function nameFor(node: FunctionNode, parent: Node | undefined): string {
  if (node.id !== null) return node.id.name;
  if (parent?.type === 'VariableDeclarator' && parent.id.type === 'Identifier') return parent.id.name;
  if (parent?.type === 'MethodDefinition' || parent?.type === 'Property' || parent?.type === 'PropertyDefinition') {
    return keyName(parent.key, parent.computed) ?? 'a computed member';
  }
  return 'a function';
}

type Members = {
  byFunction: ReadonlyMap<FunctionNode, Member>;
  byKey: ReadonlyMap<Node, ReadonlyMap<string, FunctionNode>>;
};

/** Methods, accessors and function-valued fields of classes, and accessors of object literals. */
function membersOf(collected: Collected): Members {
  const byFunction = new Map<FunctionNode, Member>();
  const byKey = new Map<Node, Map<string, FunctionNode>>();
  const note = (owner: Node, key: string | undefined, fn: Node | null) => {
    if (key === undefined || fn === null || !isFunction(fn)) return;
    byFunction.set(fn, { owner, key });
    const keys = byKey.get(owner) ?? new Map<string, FunctionNode>();
    byKey.set(owner, keys.set(key, fn));
  };
  for (const { node } of [...collected.of('ClassDeclaration'), ...collected.of('ClassExpression')]) {
    for (const item of node.body.body) {
      if (item.type !== 'MethodDefinition' && item.type !== 'PropertyDefinition') continue;
      const name = keyName(item.key, item.computed);
      if (name === undefined) continue;
      const kind = item.type === 'MethodDefinition' ? item.kind : 'method';
      const prefix = kind === 'constructor' ? 'new' : `${item.static ? 'static ' : ''}${kind}`;
      note(node, `${prefix} ${name}`, item.value === null ? null : unwrap(item.value));
    }
  }
  for (const { node } of collected.of('ObjectExpression')) {
    for (const item of node.properties) {
      if (item.type !== 'Property' || item.kind === 'init') continue;
      const name = keyName(item.key, item.computed);
      if (name !== undefined) note(node, `${item.kind} ${name}`, item.value);
    }
  }
  return { byFunction, byKey };
}

/** Names of members that are assigned anywhere in the file: such a method may be another one by the time it is called. */
function replacedMembers(collected: Collected): Set<string> {
  const names = new Set<string>();
  for (const { node } of collected.of('AssignmentExpression')) {
    if (node.left.type === 'MemberExpression') names.add(memberName(node.left) ?? '');
  }
  return names;
}

/** A getter that defines its own value the first time (`Object.defineProperty(this, …)`, `delete this.x`) ends by that. */
function isSelfReplacing(fn: FunctionNode, key: string, source: SourceText): boolean {
  if (!key.includes('get ') && !key.includes('set ')) return false;
  const text = source.text.slice(fn.start, fn.end);
  return /defineProperty|defineProperties|__defineGetter__|\bdelete\b|Reflect\./.test(text);
}

function targets(
  fn: FunctionNode,
  own: Member | undefined,
  members: Members,
  scopes: ReadonlyMap<Node, Scope>,
  replaced: ReadonlySet<string>,
): TargetOf<Target> {
  /** The member that `this.name` reaches as `kind`, when it is the function itself or a private one. */
  const throughThis = (node: MemberNode, kind: 'method' | 'get' | 'set'): FunctionNode | undefined => {
    if (own === undefined || node.object.type !== 'ThisExpression') return undefined;
    const name = memberName(node);
    if (name === undefined || (kind !== 'set' && replaced.has(name))) return undefined;
    const isStatic = own.key.startsWith('static ') ? 'static ' : '';
    const found = members.byKey.get(own.owner)?.get(`${isStatic}${kind} ${name}`);
    return found === fn || name.startsWith('#') ? found : undefined;
  };
  return {
    call(node) {
      const scope = scopes.get(node);
      const callee = unwrap(node.callee);
      if (scope === undefined) return undefined;
      if (callee.type === 'MemberExpression' && node.type === 'CallExpression') {
        const method = throughThis(callee, 'method');
        if (method !== undefined) return method;
      }
      const binding = callee.type === 'Identifier' ? scope.lookup(callee.name) : undefined;
      const local = binding === undefined ? undefined : functionOf(binding, node, members);
      if (local !== undefined) return local;
      const imported = moduleMember(callee, scope);
      if (imported === undefined || imported.member === '*' || !isRelative(imported.module)) return undefined;
      return `${imported.module}\n${imported.member}`;
    },
    read: (node) => throughThis(node, 'get'),
    write: (node) => throughThis(node, 'set'),
  };
}

/** The function a name surely stands for; for `new C()`, the constructor of C. */
function functionOf(binding: Binding, call: CallNode, members: Members): FunctionNode | undefined {
  if (binding.reassigned || binding.destructured || binding.node === undefined) return undefined;
  const node = unwrap(binding.node);
  if (node.type === 'ClassDeclaration' || node.type === 'ClassExpression') {
    return call.type === 'NewExpression' ? members.byKey.get(node)?.get('new constructor') : undefined;
  }
  return isFunction(node) ? node : undefined;
}

function findings(
  calls: ReadonlyMap<FunctionNode, Calls<Target>>,
  functions: ReadonlyMap<FunctionNode, string>,
): RawFinding[] {
  const ids = new Map([...functions.keys()].map((fn, index) => [fn, String(index).padStart(8, '0')]));
  const byId = [...functions.keys()];
  const graph = new Map<string, string[]>();
  for (const [fn, made] of calls) {
    const called = [...made.keys()].filter((target) => typeof target !== 'string').map((target) => ids.get(target));
    graph.set(
      ids.get(fn)!,
      called.filter((id) => id !== undefined),
    );
  }
  return cyclicComponents(graph).map((component) => {
    const cycle = component.map((id) => byId[Number(id)]!);
    const fn = cycle[0]!;
    const names = cycle.map((item) => functions.get(item)!);
    const at = [...calls.get(fn)!].find(([target]) => typeof target !== 'string' && cycle.includes(target));
    const message =
      cycle.length === 1
        ? `${names[0]} calls itself on every path`
        : `${names.join(', ')} call each other on every path`;
    return {
      rule: 'unbounded-recursion',
      severity: cycle.length === 1 ? 'high' : 'medium',
      node: at?.[1] ?? fn,
      message,
    };
  });
}

/** For each exported function, the imported functions it surely calls, itself or through others of the file. */
function links(
  program: Program,
  collected: Collected,
  calls: ReadonlyMap<FunctionNode, Calls<Target>>,
  source: SourceText,
): CallLink[] {
  const found: CallLink[] = [];
  for (const [name, fn] of exportedFunctions(program, collected)) {
    const seen = new Set<FunctionNode>([fn]);
    const outside = new Set<string>();
    for (const member of seen) {
      for (const target of calls.get(member)?.keys() ?? []) {
        if (typeof target === 'string') outside.add(target);
        else seen.add(target);
      }
    }
    const line = source.position(fn.start).line;
    for (const target of outside) {
      const [from, to] = target.split('\n') as [string, string];
      found.push({ name, line, from, to });
    }
  }
  return found;
}

function exportedFunctions(program: Program, collected: Collected): Map<string, FunctionNode> {
  const found = new Map<string, FunctionNode>();
  const note = (name: string, local: string) => {
    const binding = collected.root.lookup(local);
    const node = binding === undefined || binding.reassigned || binding.destructured ? undefined : binding.node;
    const inner = node === undefined ? undefined : unwrap(node);
    if (inner !== undefined && isFunction(inner)) found.set(name, inner);
  };
  for (const node of program.body) {
    if (node.type === 'ExportDefaultDeclaration') {
      const value = unwrap(node.declaration);
      if (isFunction(value)) found.set('default', value);
      else if (value.type === 'Identifier') note('default', value.name);
    } else if (node.type === 'ExportNamedDeclaration' && node.source === null) {
      const declared = node.declaration;
      if (declared?.type === 'FunctionDeclaration' && declared.id !== null) note(declared.id.name, declared.id.name);
      if (declared?.type === 'VariableDeclaration') {
        for (const { id } of declared.declarations) if (id.type === 'Identifier') note(id.name, id.name);
      }
      for (const { exported, local } of node.specifiers) {
        if (local.type === 'Identifier') note(exported.type === 'Literal' ? exported.value : exported.name, local.name);
      }
    }
  }
  return found;
}
