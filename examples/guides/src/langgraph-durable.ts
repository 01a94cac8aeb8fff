/** Owns the guide on LangGraph's graphs as runs: a graph as it is, one whose mail is an effect, and the store. No model needs a key here. */

import { FakeListChatModel } from '@langchain/core/utils/testing';
import { Annotation, END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { openEmbedded } from '@tidemark/host';
import { durableGraph, journaled, nodeContext, TidemarkStore } from '@tidemark/langgraph';
import { defineEffect } from '@tidemark/sdk';
import { z } from 'zod';
import { ticketGraph } from './langgraph-before.ts';
import { ask } from './outside.ts';

/** The graph as it is. */
export const ticketRun = durableGraph(ticketGraph(new MemorySaver()), { name: 'ticket-run', version: 1 });

const model = journaled(new FakeListChatModel({ responses: ['Sorry, ', 'Sorry again, '] }));

const mail = defineEffect({
  operation: 'mail.answer',
  kind: 'idempotent',
  request: z.object({ text: z.string() }),
  response: z.object({ id: z.string() }),
  call: async ({ text }, { key }) => ({ id: await ask(`mail ${text}`, key) }),
});

const Ticket = Annotation.Root({ text: Annotation<string>, sent: Annotation<string> });

const graph = new StateGraph(Ticket)
  .addNode('answer', async ({ text }) => {
    const { content } = await model.invoke(text);
    const { name } = interrupt({ draft: content });
    const { id } = await nodeContext().effect(mail, { text: `${content}${name}` });
    return { sent: id };
  })
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile();

export const ticketOnce = durableGraph(graph, {
  name: 'ticket-once',
  version: 1,
  effects: [mail],
  answer: z.object({ name: z.string() }),
  ask: ({ value }) => ({ title: 'Whom do we address?', detail: value, assignee: 'group:support' }),
});

/** What graphs of any process read and write: `compile({ store })`. */
export async function openStore(folder: string) {
  const host = await openEmbedded({ folder });
  const store = new TidemarkStore(host); // was: new InMemoryStore()
  return { store, close: () => host.close() };
}
