/** Owns the guide on moving from BullMQ: a job whose data says which step is next, as BullMQ's own pattern has it. */

import { type Job, type Queue, Worker } from 'bullmq';
import { ask } from './outside.ts';

interface Order {
  readonly order: string;
  readonly step: 'charge' | 'ship' | 'done';
  readonly charge?: string;
}

async function fulfil(job: Job<Order>): Promise<string> {
  let { step, charge } = job.data;
  const { order } = job.data;
  while (step !== 'done') {
    if (step === 'charge') {
      charge = await ask(`charge ${order}`); // a stalled job comes again, and charges again
      step = 'ship';
    } else {
      await ask(`ship ${order}`);
      step = 'done';
    }
    await job.updateData({ order, step, ...(charge !== undefined && { charge }) });
  }
  return charge ?? '';
}

export const startFulfilling = (queue: Queue): Worker<Order, string> =>
  new Worker<Order, string>(queue.name, fulfil, { connection: queue.opts.connection, concurrency: 10 });

export const order = (queue: Queue, id: string) =>
  queue.add('fulfil', { order: id, step: 'charge' }, { jobId: id, attempts: 5, priority: 2 });
