// Owns how the audit goes through a syntax tree: without recursion, so that depth in the source is never depth on our stack.

import type { Argument, Expression, Node, PropertyKey } from 'oxc-parser';
import { visitorKeys } from 'oxc-parser';

export type { Node };
/** The nodes whose `type` is, or may be, T. */
export type NodeOf<T extends Node['type']> = Node extends infer N
  ? N extends { type: infer U }
    ? T extends U
      ? N
      : never
    : never
  : never;
/** A function with a body of its own: declaration, expression, method or arrow. */
export type FunctionNode = Extract<Node, { params: unknown; body: unknown; async: boolean }>;
export type CallNode = Extract<Node, { type: 'CallExpression' | 'NewExpression' }>;
export type MemberNode = Extract<Node, { type: 'MemberExpression' }>;

/** Visits every node in source order; `leave` comes after a node's children. */
export function walk(
  root: Node,
  enter: (node: Node, parent: Node | undefined) => void,
  leave: (node: Node) => void,
): void {
  const nodes: Node[] = [root];
  const parents: (Node | undefined | null)[] = [undefined];
  while (nodes.length > 0) {
    const node = nodes.pop()!;
    const parent = parents.pop();
    if (parent === null) {
      leave(node);
      continue;
    }
    enter(node, parent);
    nodes.push(node);
    parents.push(null); // null marks the way out
    const keys = visitorKeys[node.type];
    if (keys === undefined) continue;
    for (let i = keys.length - 1; i >= 0; i--) {
      const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[keys[i]!];
      if (child === null || child === undefined) continue;
      if (!Array.isArray(child)) {
        nodes.push(child);
        parents.push(node);
        continue;
      }
      for (let j = child.length - 1; j >= 0; j--) {
        const item = child[j];
        if (item === null || item === undefined) continue;
        nodes.push(item);
        parents.push(node);
      }
    }
  }
}

export function isFunction(node: Node): node is FunctionNode {
  return (
    node.type === 'FunctionDeclaration' || node.type === 'FunctionExpression' || node.type === 'ArrowFunctionExpression'
  );
}

/** The expression inside type assertions, optional chains, parentheses, and `(0, f)`. */
export function unwrap(node: Node): Node {
  let inner = node;
  for (;;) {
    switch (inner.type) {
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
      case 'TSNonNullExpression':
      case 'TSTypeAssertion':
      case 'TSInstantiationExpression':
      case 'ChainExpression':
      case 'ParenthesizedExpression':
        inner = inner.expression;
        break;
      case 'SequenceExpression':
        inner = inner.expressions[inner.expressions.length - 1]!;
        break;
      default:
        return inner;
    }
  }
}

/** The text of a string literal or of a template without expressions. */
export function literalText(node: Node | null | undefined): string | undefined {
  if (node === null || node === undefined) return undefined;
  const inner = unwrap(node);
  if (inner.type === 'Literal') return typeof inner.value === 'string' ? inner.value : undefined;
  if (inner.type !== 'TemplateLiteral' || inner.expressions.length > 0) return undefined;
  return inner.quasis[0]?.value.cooked ?? undefined;
}

/** The name by which a member is read: `a.b`, `a['b']`, `a.#b` (with its '#'). */
export function memberName(node: MemberNode): string | undefined {
  if (node.computed) return literalText(node.property);
  return node.property.type === 'PrivateIdentifier' ? `#${node.property.name}` : node.property.name;
}

/** The name of a property, method or pattern key, when it is not computed. */
export function keyName(key: PropertyKey | Expression, computed: boolean): string | undefined {
  if (computed) return literalText(key as Node);
  if (key.type === 'Identifier') return key.name;
  if (key.type === 'PrivateIdentifier') return `#${key.name}`;
  if (key.type === 'Literal' && (typeof key.value === 'string' || typeof key.value === 'number'))
    return String(key.value);
  return undefined;
}

export function argument(call: CallNode, index: number): Node | undefined {
  const found: Argument | undefined = call.arguments[index];
  return found === undefined || found.type === 'SpreadElement' ? undefined : found;
}
