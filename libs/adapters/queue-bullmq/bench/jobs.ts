/**
 * Owns the figures of docs/decisions/0005-jobs-are-hints.md: what a burst of jobs costs, in time until all handlers have begun and in
 * processor time of this process and of Redis. It compares three ways: BullMQ's own worker with one BullMQ job per job, this library with
 * one job per wake-up, and this library as it is. The first round of a process is cold, so give the way by name to compare first rounds.
 * Run it on an idle machine, against a Redis of its own:
 *
 * node libs/adapters/queue-bullmq/bench/jobs.ts redis://127.0.0.1:6379 [jobs] [way]
 */

import { randomUUID } from 'node:crypto';
import { lamport, offset, partition, tenantId, workflowId } from '@tidemark/core';
import type { Job } from '@tidemark/ports';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { openBullmqQueue } from '../src/index.ts';

const ROUNDS = 5;
/** A handler works for about as long as a short workflow does. */
const HANDLER_MS = 300;
const DEFINITION = 'bench';

const [url = 'redis://127.0.0.1:6379', jobsText = '1000', only] = process.argv.slice(2);
const jobCount = Number(jobsText);
const redis = new Redis(url);

interface Way {
  enqueue(jobs: readonly Job[]): Promise<unknown>;
  close(): Promise<void>;
}
type Open = (handle: () => Promise<void>) => Promise<Way>;

const ours =
  (limits: { jobsPerWakeupMax?: number }): Open =>
  async (handle) => {
    const queue = openBullmqQueue({ url, prefix: `bench-${randomUUID()}`, limits });
    await queue.consume(
      { concurrency: jobCount, routes: [{ definition: DEFINITION, version: 1, pinned: false }] },
      handle,
    );
    return { enqueue: (jobs) => queue.enqueue(jobs), close: () => queue.close() };
  };

const plain: Open = async (handle) => {
  const connections = [0, 1].map(() => new Redis(url, { maxRetriesPerRequest: null }));
  const common = { prefix: `bench-${randomUUID()}`, skipVersionCheck: true };
  const defaultJobOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 };
  const queue = new Queue(DEFINITION, { ...common, connection: connections[0]!, defaultJobOptions });
  const worker = new Worker(DEFINITION, handle, { ...common, connection: connections[1]!, concurrency: jobCount });
  await worker.waitUntilReady();
  return {
    enqueue: (jobs) =>
      queue.addBulk(jobs.map((job) => ({ name: 'job', data: job, opts: { jobId: `${job.workflow}.${job.offset}` } }))),
    async close() {
      await worker.close();
      await queue.close();
      for (const connection of connections) connection.disconnect();
    },
  };
};

async function measure(name: string, open: Open): Promise<void> {
  let begun = 0;
  let ended = 0;
  let allBegun = () => {};
  let allEnded = () => {};
  const way = await open(async () => {
    begun += 1;
    if (begun === jobCount) allBegun();
    await new Promise((resolve) => setTimeout(resolve, HANDLER_MS));
    ended += 1;
    if (ended === jobCount) allEnded();
  });
  for (let round = 1; round <= ROUNDS; round += 1) {
    begun = 0;
    ended = 0;
    const whenBegun = new Promise<void>((resolve) => {
      allBegun = resolve;
    });
    const whenEnded = new Promise<void>((resolve) => {
      allEnded = resolve;
    });
    const cpu = process.cpuUsage();
    const redisCpuMs = await redisProcessorMs();
    const startMs = performance.now();
    await way.enqueue(Array.from({ length: jobCount }, (_, index) => job(index, round)));
    const enqueuedMs = performance.now() - startMs;
    await whenBegun;
    const begunMs = performance.now() - startMs;
    await whenEnded;
    const { user, system } = process.cpuUsage(cpu);
    const node = (user + system) / 1_000;
    const server = (await redisProcessorMs()) - redisCpuMs;
    const figures = [enqueuedMs, begunMs, node, server].map((each) => each.toFixed(0));
    console.log(`${name} | ${round} | ${figures.join(' | ')}`);
  }
  await way.close();
}

const job = (index: number, round: number): Job => ({
  workflow: workflowId(`workflow-${index}`),
  tenant: tenantId('tenant'),
  definition: DEFINITION,
  version: 1,
  pinned: false,
  partition: partition(index),
  offset: offset(round),
  lamport: lamport(index),
});

async function redisProcessorMs(): Promise<number> {
  const info = await redis.info('cpu');
  const field = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1] ?? 0);
  return (field('used_cpu_user') + field('used_cpu_sys')) * 1_000;
}

console.log('way | round | enqueued ms | all begun ms | Node CPU ms | Redis CPU ms');
const ways: Readonly<Record<string, Open>> = {
  'bullmq-worker': plain,
  'one-job-per-wakeup': ours({ jobsPerWakeupMax: 1 }),
  wakeups: ours({}),
};
for (const [name, open] of Object.entries(ways)) if (only === undefined || only === name) await measure(name, open);
redis.disconnect();
