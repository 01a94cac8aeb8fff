import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cyclicComponents, type Graph, shortestCycle } from './graph.ts';

/** The same by definition: two nodes are together when each reaches the other. */
function naiveComponents(graph: Graph): string[][] {
  const reaches = (from: string): Set<string> => {
    const seen = new Set<string>();
    const pending = [...(graph.get(from) ?? [])];
    while (pending.length > 0) {
      const node = pending.pop()!;
      if (seen.has(node)) continue;
      seen.add(node);
      pending.push(...(graph.get(node) ?? []));
    }
    return seen;
  };
  const reach = new Map([...graph.keys()].map((node) => [node, reaches(node)]));
  const cyclic = [...graph.keys()].filter((node) => reach.get(node)!.has(node)).sort();
  const groups = new Map<string, string[]>();
  for (const node of cyclic) {
    const first = cyclic.find((other) => reach.get(node)!.has(other) && reach.get(other)?.has(node))!;
    groups.set(first, [...(groups.get(first) ?? []), node]);
  }
  return [...groups.values()];
}

const NODES = 'abcdefgh'.split('');
const graphs = fc
  .array(fc.tuple(fc.constantFrom(...NODES), fc.constantFrom(...NODES)), { maxLength: 20 })
  .map((edges) => new Map(NODES.map((node) => [node, edges.filter(([from]) => from === node).map(([, to]) => to)])));

describe('cyclicComponents', () => {
  it('agrees with the definition', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        expect(cyclicComponents(graph)).toEqual(naiveComponents(graph));
      }),
    );
  });

  it('does not depend on the order of nodes or edges', () => {
    const reversed = (graph: Graph) => new Map([...graph].reverse().map(([node, to]) => [node, [...to].reverse()]));
    fc.assert(
      fc.property(graphs, (graph) => {
        expect(cyclicComponents(reversed(graph))).toEqual(cyclicComponents(graph));
      }),
    );
  });

  it('finds self-loops, ignores edges to unknown nodes', () => {
    expect(cyclicComponents(new Map([['a', ['a', 'zzz']]]))).toEqual([['a']]);
    expect(cyclicComponents(new Map([['a', ['zzz']]]))).toEqual([]);
  });

  it('takes a chain of 100,000 nodes without growing the stack', () => {
    const count = 100_000;
    const chain = new Map(Array.from({ length: count }, (_, i) => [`n${i}`, [`n${(i + 1) % count}`]]));
    expect(cyclicComponents(chain)).toHaveLength(1);
  });
});

describe('shortestCycle', () => {
  it('is a cycle through its start, and no shorter one exists', () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        for (const component of cyclicComponents(graph)) {
          const cycle = shortestCycle(graph, component, component[0]!);
          expect(cycle[0]).toBe(component[0]);
          expect(new Set(cycle).size).toBe(cycle.length);
          cycle.forEach((node, i) => {
            expect(graph.get(node)).toContain(cycle[(i + 1) % cycle.length]);
          });
        }
      }),
    );
    const graph = new Map([
      ['a', ['b', 'c']],
      ['b', ['c']],
      ['c', ['a']],
    ]);
    expect(shortestCycle(graph, ['a', 'b', 'c'], 'a')).toEqual(['a', 'c']);
  });
});
