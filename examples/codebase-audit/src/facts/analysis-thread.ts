// Owns the thread that does jobs of the audit, one after another, for analysis-pool.ts.

import { parentPort } from 'node:worker_threads';
import { type JobName, type Jobs, jobs } from './analysis.ts';

export type JobMessage = { [N in JobName]: { name: N; input: Jobs[N]['input'] } }[JobName];
export type AnswerMessage = { ok: true; output: unknown } | { ok: false; error: unknown };

parentPort?.on('message', async ({ name, input }: JobMessage) => {
  const job = jobs[name] as (input: unknown) => unknown;
  try {
    answer({ ok: true, output: await job(input) });
  } catch (error) {
    answer({ ok: false, error });
  }
});

function answer(message: AnswerMessage): void {
  parentPort?.postMessage(message);
}
