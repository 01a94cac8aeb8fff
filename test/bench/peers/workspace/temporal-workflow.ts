/** Owns the workflow that Temporal runs in its sandbox: one activity a step. */

import { proxyActivities } from '@temporalio/workflow';
import type { Given } from './protocol.ts';

interface Activities {
  step(given: Given, n: number, previous: string): Promise<string>;
}

/** An activity must name a limit; a lost worker's activity is tried again once it has passed. */
const { step } = proxyActivities<Activities>({ startToCloseTimeout: '10 seconds' });

export async function steps(given: Given): Promise<string> {
  let payload = '';
  for (let n = 1; n <= given.steps; n++) payload = await step(given, n, payload);
  return payload;
}
