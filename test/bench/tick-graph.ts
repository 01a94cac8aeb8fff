/** Owns the graph of `bench -- doors --only kills`: a node that takes so long, again and again, and keeps no more than their number. */

import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { durableGraph } from '@tidemark/langgraph';
import type { Ticks } from './resume-workflows.ts';

const State = Annotation.Root({
  steps: Annotation<number>,
  stepMs: Annotation<number>,
  n: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }),
});

const graph = new StateGraph(State)
  .addNode('tick', async ({ stepMs }) => {
    await new Promise((resolve) => setTimeout(resolve, stepMs));
    return { n: 1 };
  })
  .addEdge(START, 'tick')
  .addConditionalEdges('tick', ({ n, steps }) => (n < steps ? 'tick' : END))
  .compile()
  .withConfig({ recursionLimit: 10_000_000 });

export const tickGraph = durableGraph(graph, { name: 'bench-tick-graph', version: 1 }) as unknown as Ticks;
