/** Owns the guide on moving from LangGraph: a graph that classifies a ticket, waits for a person, and answers. */

import { Annotation, type BaseCheckpointSaver, END, interrupt, START, StateGraph } from '@langchain/langgraph';
import { ask, complete } from './outside.ts';

const Ticket = Annotation.Root({
  text: Annotation<string>,
  topic: Annotation<string>,
  reply: Annotation<string>,
  sent: Annotation<string>,
});

export const ticketGraph = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Ticket)
    .addNode('classify', async ({ text }) => ({ topic: await complete(text) }))
    .addNode('review', async ({ topic }) => {
      const { reply } = interrupt({ question: `How do we answer this ${topic} ticket?` });
      return { reply };
    })
    .addNode('answer', async ({ reply }) => ({ sent: await ask(`mail ${reply}`) })) // runs again when its process dies
    .addEdge(START, 'classify')
    .addConditionalEdges('classify', ({ topic }) => (topic === 'billing' ? 'review' : END))
    .addEdge('review', 'answer')
    .addEdge('answer', END)
    .compile({ checkpointer });
