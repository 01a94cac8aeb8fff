/** Owns the walk from a node of a syntax tree to those below it. */
import type { Node } from 'oxc-parser';
import { visitorKeys } from 'oxc-parser';

/** Each with the name under which it has it. */
export function childrenOf(node: Node): [string, Node][] {
  const keys = visitorKeys[node.type as keyof typeof visitorKeys] ?? [];
  return keys.flatMap((key) => {
    const value = (node as unknown as Record<string, unknown>)[key];
    const nodes = Array.isArray(value) ? value : [value];
    return nodes.filter(isNode).map((child): [string, Node] => [key, child]);
  });
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
