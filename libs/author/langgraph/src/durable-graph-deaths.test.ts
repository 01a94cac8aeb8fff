/** Graphs as runs whose worker dies at each boundary, in a run for each: they end as with the framework. */

import { crashEverywhere } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { durableGraph } from './durable-graph.ts';
import { byFramework, ended, GRAPHS, named, START_LIST } from './graphs-fixture.ts';

// It has so many supersteps that it would take as long as all others.
const graphs = Object.entries(GRAPHS).filter(([name]) => !name.includes('of its own memory'));

it.each(graphs)('%s', async (_, { graph, input = START_LIST, answers = [] }) => {
  const definition = durableGraph(graph, named('graph'));
  const expected = await byFramework(graph, input, answers);
  const { outcome, boundaries } = await crashEverywhere({ workflows: [definition] }, (world) =>
    ended(world, definition, input, answers),
  );
  expect(outcome).toEqual(expected);
  expect(boundaries).toBeGreaterThan(5);
});
