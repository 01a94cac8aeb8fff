/** Owns the refund of docs/comparison.md in LangGraph's functional API. It is compiled, and not run. */

import { type BaseCheckpointSaver, entrypoint, interrupt, task } from '@langchain/langgraph';
import { credit, orderOf } from './shop.ts';

const lookUp = task('order', orderOf);
const issue = task('credit', credit);

export const refund = (checkpointer: BaseCheckpointSaver) =>
  entrypoint({ name: 'refund', checkpointer }, async (order: string): Promise<string[]> => {
    const { cents, items } = await lookUp(order);
    // It has no timer: after two days your scheduler invokes the thread with a no.
    if (cents > 50_000 && interrupt<string, boolean>(`Refund ${cents} cents?`) !== true) return [];
    return Promise.all(items.map((item) => issue(item)));
  });
