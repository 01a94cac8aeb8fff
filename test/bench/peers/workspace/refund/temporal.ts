/** Owns the refund of docs/comparison.md as a workflow of Temporal. It is compiled, and not run. */

import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import type * as shop from './shop.ts';

const { orderOf, credit } = proxyActivities<typeof shop>({ startToCloseTimeout: '10 seconds' });
export const answer = defineSignal<[boolean]>('answer');

export async function refund(order: string): Promise<string[]> {
  const answers: boolean[] = [];
  setHandler(answer, (approved) => void answers.push(approved));
  const { cents, items } = await orderOf(order);
  if (cents > 50_000) {
    await condition(() => answers.length > 0, '2 days');
    if (answers[0] !== true) return [];
  }
  return Promise.all(items.map((item) => credit(item)));
}
