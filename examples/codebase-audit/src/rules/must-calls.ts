// Owns which calls a function makes on every path through it, before anything could end or suspend it.
// Deliberately an under-estimate: where a branch, an exit, an `await`, an exception handler or sheer depth makes it doubtful,
// a call is left out. That a called function may throw is not considered, except for those whose name says so (assert, check, exit).
//
// Statements are read backwards with K, what is surely called after normal completion: `must(return e, K)` drops K,
// `must(if (c) a else b, K)` = c ∪ (must(a, K) ∩ must(b, K)), and so on.

import { visitorKeys } from 'oxc-parser';
import { type CallNode, type FunctionNode, isFunction, type MemberNode, memberName, type Node } from '../facts/ast.ts';
import { MAX_ANALYSIS_DEPTH } from '../limits.ts';

/** What is called (whatever the caller of this module uses to name it), and the node of the first such call. */
export type Calls<T> = ReadonlyMap<T, Node>;

/** Names the target of a call or of a property access, or undefined when it is none that matters. */
export type TargetOf<T> = {
  call(node: CallNode): T | undefined;
  read(node: MemberNode): T | undefined;
  write(node: MemberNode): T | undefined;
};

/** More targets than these are dropped: fewer is always safe. */
const MAX_TARGETS = 64;
/** Calls to such functions may end the path by throwing or exiting. */
const MAY_END = /assert|invariant|ensure|check|expect|verify|valid|exit|throw|fail|panic|abort|guard|require|die/i;

/** The calls that every execution of a function makes. */
export function mustCalls<T>(fn: FunctionNode, targetOf: TargetOf<T>): Calls<T> {
  if (fn.body === null || fn.generator) return new Map();
  const analysis = new Analysis(targetOf);
  if (fn.body.type === 'BlockStatement') return analysis.statement(fn.body, new Map(), 0);
  return analysis.expression(fn.body, new Map(), 0);
}

/** What an expression surely calls, in order of evaluation, up to the first point where it may stop. */
class Evaluation<T> {
  readonly calls = new Map<T, Node>();
  stopped = false;
}

class Analysis<T> {
  readonly #targetOf: TargetOf<T>;

  constructor(targetOf: TargetOf<T>) {
    this.#targetOf = targetOf;
  }

  expression(node: Node | null | undefined, after: Calls<T>, depth: number): Calls<T> {
    if (node === null || node === undefined) return after;
    const evaluation = new Evaluation<T>();
    this.#evaluate(node, evaluation, depth);
    return union(evaluation.calls, evaluation.stopped ? undefined : after);
  }

  statement(node: Node | null | undefined, after: Calls<T>, depth: number): Calls<T> {
    if (node === null || node === undefined) return after;
    if (depth > MAX_ANALYSIS_DEPTH) return new Map();
    const none: Calls<T> = new Map();
    switch (node.type) {
      case 'BlockStatement': {
        let next = after;
        for (let i = node.body.length - 1; i >= 0; i--) next = this.statement(node.body[i], next, depth + 1);
        return next;
      }
      case 'VariableDeclaration': {
        let next = after;
        for (let i = node.declarations.length - 1; i >= 0; i--) {
          next = this.expression(node.declarations[i]!.init, next, depth + 1);
        }
        return next;
      }
      case 'ExpressionStatement':
        return this.expression(node.expression, after, depth + 1);
      case 'ReturnStatement':
      case 'ThrowStatement':
        return this.expression(node.argument, none, depth + 1);
      case 'IfStatement': {
        const yes = this.statement(node.consequent, after, depth + 1);
        const no = this.statement(node.alternate, after, depth + 1);
        return this.expression(node.test, intersection(yes, no), depth + 1);
      }
      case 'ForStatement': {
        const rest = this.expression(node.test, this.#unlessExits(node.body, after), depth + 1);
        if (node.init?.type === 'VariableDeclaration') return this.statement(node.init, rest, depth + 1);
        return this.expression(node.init, rest, depth + 1);
      }
      case 'ForInStatement':
      case 'ForOfStatement':
        return this.expression(node.right, this.#unlessExits(node, after), depth + 1);
      case 'WhileStatement':
        return this.expression(node.test, this.#unlessExits(node.body, after), depth + 1);
      case 'DoWhileStatement':
        return this.statement(
          node.body,
          this.expression(node.test, this.#unlessExits(node.body, after), depth + 1),
          depth + 1,
        );
      case 'SwitchStatement':
        return this.expression(node.discriminant, this.#unlessExits(node, after), depth + 1);
      case 'TryStatement': {
        const end = this.statement(node.finalizer, after, depth + 1);
        if (node.handler === null) return this.statement(node.block, end, depth + 1);
        return mayExit(node.block) || mayExit(node.handler) ? none : end;
      }
      case 'LabeledStatement':
        return mayExit(node.body) ? none : this.statement(node.body, after, depth + 1);
      case 'BreakStatement':
      case 'ContinueStatement':
      case 'WithStatement':
        return none;
      default:
        return after; // declarations, empty statements, types
    }
  }

  #unlessExits(body: Node, after: Calls<T>): Calls<T> {
    return mayExit(body) ? new Map() : after;
  }

  #evaluate(node: Node, into: Evaluation<T>, depth: number): void {
    if (into.stopped) return;
    if (depth > MAX_ANALYSIS_DEPTH) {
      into.stopped = true;
      return;
    }
    const go = (child: Node | null | undefined) => {
      if (child !== null && child !== undefined) this.#evaluate(child, into, depth + 1);
    };
    switch (node.type) {
      case 'CallExpression':
      case 'NewExpression':
        go(node.callee);
        for (const item of node.arguments) go(item);
        this.#endCall(node, into);
        break;
      case 'ChainExpression':
        go(chainStart(node));
        break;
      case 'MemberExpression':
        go(node.object);
        if (node.computed) go(node.property);
        add(into, this.#targetOf.read(node), node);
        break;
      case 'AssignmentExpression':
        this.#assignment(node, into, depth);
        break;
      case 'LogicalExpression':
        go(node.left);
        this.#perhaps(node.right, into, depth);
        break;
      case 'ConditionalExpression':
        go(node.test);
        this.#either(node.consequent, node.alternate, into, depth);
        break;
      case 'AwaitExpression':
      case 'YieldExpression':
        go(node.argument);
        into.stopped = true;
        break;
      case 'Property':
        if (node.computed) go(node.key);
        go(node.value);
        break;
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
      case 'ClassExpression':
        break;
      default:
        if (node.type.startsWith('JSX')) into.stopped = true;
        else for (const child of children(node)) go(child);
    }
  }

  #assignment(node: Extract<Node, { type: 'AssignmentExpression' }>, into: Evaluation<T>, depth: number): void {
    const left = node.left;
    if (left.type === 'MemberExpression') {
      this.#evaluate(left.object, into, depth + 1);
      if (left.computed) this.#evaluate(left.property, into, depth + 1);
    }
    if (/^(?:&&|\|\||\?\?)=$/.test(node.operator)) this.#perhaps(node.right, into, depth);
    else {
      this.#evaluate(node.right, into, depth + 1);
      if (left.type === 'MemberExpression') add(into, this.#targetOf.write(left), node);
    }
  }

  /** Something that may not be evaluated: its calls don't count, but where it may stop, all may stop. */
  #perhaps(node: Node, into: Evaluation<T>, depth: number): void {
    if (into.stopped) return;
    const aside = new Evaluation<T>();
    this.#evaluate(node, aside, depth + 1);
    into.stopped = aside.stopped;
  }

  #either(a: Node, b: Node, into: Evaluation<T>, depth: number): void {
    if (into.stopped) return;
    const [first, second] = [new Evaluation<T>(), new Evaluation<T>()];
    this.#evaluate(a, first, depth + 1);
    this.#evaluate(b, second, depth + 1);
    for (const [target, at] of intersection(first.calls, second.calls)) add(into, target, at);
    into.stopped = first.stopped || second.stopped;
  }

  #endCall(node: CallNode, into: Evaluation<T>): void {
    if (into.stopped) return;
    const target = this.#targetOf.call(node);
    add(into, target, node);
    const callee = node.callee;
    const name =
      callee.type === 'Identifier' ? callee.name : callee.type === 'MemberExpression' ? memberName(callee) : undefined;
    if (target === undefined && name !== undefined && MAY_END.test(name)) into.stopped = true;
  }
}

function add<T>(into: Evaluation<T>, target: T | undefined, node: Node): void {
  if (into.stopped || target === undefined || into.calls.size >= MAX_TARGETS) return;
  if (!into.calls.has(target)) into.calls.set(target, node);
}

function union<T>(first: Calls<T>, second: Calls<T> | undefined): Calls<T> {
  if (second === undefined || second.size === 0) return first;
  if (first.size === 0) return second;
  const all = new Map(first);
  for (const [target, node] of second) if (!all.has(target) && all.size < MAX_TARGETS) all.set(target, node);
  return all;
}

function intersection<T>(a: Calls<T>, b: Calls<T>): Calls<T> {
  if (a === b) return a;
  return new Map([...a].filter(([target]) => b.has(target)));
}

/** The object an optional chain begins with: all that follows may not be evaluated. */
function chainStart(node: Node): Node {
  let inner = node;
  for (;;) {
    if (inner.type === 'ChainExpression') inner = inner.expression;
    else if (inner.type === 'MemberExpression') inner = inner.object;
    else if (inner.type === 'CallExpression') inner = inner.callee;
    else if (inner.type === 'TSNonNullExpression') inner = inner.expression;
    else return inner;
  }
}

function children(node: Node): Node[] {
  const found: Node[] = [];
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key];
    if (Array.isArray(child)) for (const item of child) item !== null && found.push(item);
    else if (child !== null && child !== undefined) found.push(child);
  }
  return found;
}

/** Whether control may leave a statement otherwise than at its end: return, throw, a labelled jump, a suspension. */
function mayExit(root: Node): boolean {
  const pending = [root];
  while (pending.length > 0) {
    const node = pending.pop()!;
    switch (node.type) {
      case 'ReturnStatement':
      case 'ThrowStatement':
      case 'AwaitExpression':
      case 'YieldExpression':
        return true;
      case 'BreakStatement':
      case 'ContinueStatement':
        if (node.label !== null) return true;
        break;
      case 'ForOfStatement':
        if (node.await) return true;
        pending.push(...children(node));
        break;
      default:
        if (!isFunction(node)) pending.push(...children(node));
    }
  }
  return false;
}
