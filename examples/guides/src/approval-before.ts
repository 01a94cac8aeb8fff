/** Owns the guide on human approval: a process that waits for an answer, as scripts do. */

import { setTimeout as pause } from 'node:timers/promises';
import { ask } from './outside.ts';

const answers = new Map<string, boolean>();
export const answer = (order: string, yes: boolean): void => void answers.set(order, yes);

export async function refundWhenAllowed(order: string, cents: number): Promise<string> {
  await ask(`mail lead: refund ${cents} cents for ${order}?`);
  while (!answers.has(order)) await pause(10); // the process must live until then
  if (answers.get(order) !== true) return 'refused';
  return ask(`refund ${order} ${cents}`);
}
