// Owns the graph questions of the audit: strongly connected components and one shortest cycle through a node.
// Without recursion, and the same answer for the same graph whatever the order of its input.

import { compareText } from '../order.ts';

/** Node to its successors; successors that are no keys are leaves. */
export type Graph = ReadonlyMap<string, readonly string[]>;

/** Tarjan's algorithm (SIAM J. Comput. 1972) with an explicit stack. Components that are cycles: more than one node, or a
 * node that points at itself. Nodes within a component, and components by their first node, are in code point order. */
export function cyclicComponents(graph: Graph): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const onStack = new Set<string>();
  const stack: string[] = [];
  const found: string[][] = [];

  for (const root of [...graph.keys()].sort(compareText)) {
    if (index.has(root)) continue;
    const work: { node: string; next: number }[] = [{ node: root, next: 0 }];
    while (work.length > 0) {
      const frame = work[work.length - 1]!;
      const { node } = frame;
      if (frame.next === 0) {
        index.set(node, index.size);
        low.set(node, index.get(node)!);
        stack.push(node);
        onStack.add(node);
      }
      const successor = graph.get(node)?.[frame.next++];
      if (successor !== undefined) {
        if (!index.has(successor)) work.push({ node: successor, next: 0 });
        else if (onStack.has(successor)) low.set(node, Math.min(low.get(node)!, index.get(successor)!));
        continue;
      }
      work.pop();
      const parent = work[work.length - 1]?.node;
      if (parent !== undefined) low.set(parent, Math.min(low.get(parent)!, low.get(node)!));
      if (low.get(node) !== index.get(node)) continue;
      const component = stack.splice(stack.lastIndexOf(node));
      for (const member of component) onStack.delete(member);
      if (component.length > 1 || (graph.get(node) ?? []).includes(node)) found.push(component.sort(compareText));
    }
  }
  return found.sort((a, b) => compareText(a[0]!, b[0]!));
}

/** A shortest way from `start` back to itself inside `component`, `start` first and not repeated. */
export function shortestCycle(graph: Graph, component: readonly string[], start: string): string[] {
  const inside = new Set(component);
  const cameFrom = new Map<string, string>();
  let edge = [start];
  while (edge.length > 0) {
    const next: string[] = [];
    for (const node of edge) {
      for (const successor of [...(graph.get(node) ?? [])].sort(compareText)) {
        if (successor === start) return trace(cameFrom, start, node);
        if (!inside.has(successor) || cameFrom.has(successor)) continue;
        cameFrom.set(successor, node);
        next.push(successor);
      }
    }
    edge = next;
  }
  return [start];
}

function trace(cameFrom: ReadonlyMap<string, string>, start: string, end: string): string[] {
  const path = [end];
  while (path[0] !== start) path.unshift(cameFrom.get(path[0]!)!);
  return path;
}
