/** A graph of three nodes, each with a call: `memory`, or `tidemark` and a durability. See docs/guides/langgraph.md. */

import { Annotation, type BaseCheckpointSaver, END, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { openEmbedded } from '@tidemark/host';
import { TidemarkSaver } from '@tidemark/langgraph';
import { post, stateFolder } from './outside.ts';

const Refund = Annotation.Root({ order: Annotation<string>, cents: Annotation<number> });

const refundGraph = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(Refund)
    .addNode('price', async ({ order }) => ({ cents: ((await post('/orders', { order })) as { cents: number }).cents }))
    .addNode('refund', async ({ order, cents }) => {
      await post('/refunds', { order, cents });
      return {};
    })
    .addNode('mail', async ({ order }) => {
      await post('/mails', { order });
      return {};
    })
    .addEdge(START, 'price')
    .addEdge('price', 'refund')
    .addEdge('refund', 'mail')
    .addEdge('mail', END)
    .compile({ checkpointer });

const [door = 'memory', durability = 'async'] = process.argv.slice(2);
const host = door === 'tidemark' ? await openEmbedded({ folder: stateFolder }) : undefined;
const graph = refundGraph(host === undefined ? new MemorySaver() : new TidemarkSaver(host));
const thread = { configurable: { thread_id: 'refund-8821' }, durability: durability as 'async' | 'sync' };
const { values, tasks } = await graph.getState(thread);
const isNew = Object.keys(values).length === 0;
// A task that has finished, in a superstep that hasn't, is none of `next`. Null: on from where the thread stands.
const { cents } = isNew || tasks.length > 0 ? await graph.invoke(isNew ? { order: '8821' } : null, thread) : values;
await host?.close();
console.log(`refunded ${cents}`);
