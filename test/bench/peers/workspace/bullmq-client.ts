/** Owns the client of BullMQ: adds the first steps' jobs, and hears of the last ones' completion. */

import { Queue, QueueEvents } from 'bullmq';
import type { StepJob } from './bullmq-worker.ts';
import { required, serve } from './child.ts';
import { ADDRESS_VARIABLE, givenOf } from './protocol.ts';

const connection = { url: required(ADDRESS_VARIABLE), maxRetriesPerRequest: null };
const queue = new Queue<StepJob>('bench', { connection });
const events = new QueueEvents('bench', { connection });
await events.waitUntilReady();

const waiting = new Map<string, () => void>();
events.on('completed', ({ jobId }) => {
  waiting.get(jobId)?.();
  waiting.delete(jobId);
});

serve({
  run: async (request) => {
    const all = givenOf(request);
    const done = all.map(({ id, steps }) => new Promise<void>((resolve) => waiting.set(`${id}-${steps}`, resolve)));
    const jobs = all.map((given) => ({
      name: 'step',
      data: { given, n: 1, payload: '' },
      opts: { jobId: `${given.id}-1` },
    }));
    await queue.addBulk(jobs);
    await Promise.all(done);
  },
});
