/** Owns the measured worker of BullMQ: a job a step, which adds the next step's job before it is completed. */

import { Queue, Worker } from 'bullmq';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, CONCURRENCY, type Given } from './protocol.ts';
import { doStep } from './step.ts';

export interface StepJob {
  readonly given: Given;
  readonly n: number;
  readonly payload: string;
}

const connection = { url: required(ADDRESS_VARIABLE), maxRetriesPerRequest: null };
const queue = new Queue<StepJob>('bench', { connection });
const worker = new Worker<StepJob>(
  'bench',
  async ({ data: { given, n, payload: previous } }) => {
    const payload = await doStep(given, n, previous);
    // Named after its step, so that a job that is done twice adds the next one once.
    if (n < given.steps) await queue.add('step', { given, n: n + 1, payload }, { jobId: `${given.id}-${n + 1}` });
  },
  { connection, concurrency: CONCURRENCY },
);
worker.on('error', (error) => process.stderr.write(`bullmq: ${error.message}\n`));
await worker.waitUntilReady();
serve();
