/** Owns the workflow that Temporal runs in its sandbox: one activity a step. */

import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { type Given, isWoken, WAKE } from './protocol.ts';

interface Activities {
  step(given: Given, n: number, previous: string): Promise<string>;
}

/** An activity must name a limit; a lost worker's activity is tried again once it has passed. */
const { step } = proxyActivities<Activities>({ startToCloseTimeout: '10 seconds' });

const wake = defineSignal(WAKE);

export async function steps(given: Given): Promise<string> {
  let [payload, isSignalled] = ['', false];
  setHandler(wake, () => {
    isSignalled = true;
  });
  for (let n = 1; n <= given.steps; n++) {
    if (isWoken(given, n)) await condition(() => isSignalled);
    payload = await step(given, n, payload);
  }
  return payload;
}
