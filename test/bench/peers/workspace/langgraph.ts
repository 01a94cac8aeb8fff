/** Owns the measured process of LangGraph, which is a library: one node a step, each superstep's checkpoint awaited. */

import { Annotation, END, START, StateGraph } from '@langchain/langgraph';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, type Given, givenOf, type RunRequest } from './protocol.ts';
import { doStep } from './step.ts';

const State = Annotation.Root({
  given: Annotation<Given>,
  n: Annotation<number>,
  payload: Annotation<string>,
});

const checkpointer = PostgresSaver.fromConnString(required(ADDRESS_VARIABLE));
await checkpointer.setup();

const graph = new StateGraph(State)
  .addNode('step', async ({ given, n, payload }) => ({ n: n + 1, payload: await doStep(given, n + 1, payload) }))
  .addEdge(START, 'step')
  .addConditionalEdges('step', ({ given, n }) => (n < given.steps ? 'step' : END), ['step', END])
  .compile({ checkpointer });

/** The input of a thread that goes on is null. */
async function invoke(given: Given, isNew: boolean): Promise<void> {
  await graph.invoke(isNew ? { given, n: 0, payload: '' } : null, {
    configurable: { thread_id: given.id },
    recursionLimit: given.steps + 10,
    durability: 'sync',
  });
}

serve({
  run: async (request: RunRequest) => void (await Promise.all(givenOf(request).map((given) => invoke(given, true)))),
  takeOver: async (all) => void (await Promise.all(all.map((given) => invoke(given, false)))),
});
