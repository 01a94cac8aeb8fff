/** Runs the contract of JobQueue in memory, and what only this adapter promises. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { jobQueueContract } from '@tidemark/testkit/contracts/job-queue';
import { job, routesOf } from '@tidemark/testkit/contracts/job-queue-jobs';
import { expect, test } from 'vitest';
import { createMemoryQueue, WAITING_JOBS_MAX } from './memory-queue.ts';

jobQueueContract('memory', async () => {
  const queue = createMemoryQueue();
  return { queue, close: () => queue.close() };
});

test('a handler never runs inside enqueue', async () => {
  const queue = createMemoryQueue();
  let handled = 0;
  await queue.consume({ concurrency: 1, routes: routesOf('d') }, async () => {
    handled += 1;
  });
  const added = queue.enqueue([job('a', { definition: 'd' })]);
  expect(handled).toBe(0);
  await added;
  await queue.close();
});

test('a handler runs in the asynchronous context of its consumer, and not in that of who sent the job', async () => {
  const queue = createMemoryQueue();
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  await context.run('consumer', () =>
    queue.consume({ concurrency: 1, routes: routesOf('d') }, async () => void seen.push(context.getStore())),
  );
  await context.run('request', () => queue.enqueue(['a', 'b'].map((name) => job(name, { definition: 'd' }))));
  await expect.poll(() => seen).toEqual(['consumer', 'consumer']);
  await queue.close();
});

test('consumers share what waits: none takes all while another has slots', async () => {
  const queue = createMemoryQueue();
  const counts = [0, 0];
  const running: (() => void)[] = [];
  for (const index of [0, 1]) {
    await queue.consume({ concurrency: 10, routes: routesOf('d') }, () => {
      counts[index]! += 1;
      return new Promise<void>((resolve) => running.push(resolve));
    });
  }
  await queue.enqueue(Array.from({ length: 10 }, (_, index) => job(`w${index}`, { definition: 'd' })));
  await Promise.resolve();
  expect(counts).toEqual([5, 5]);
  for (const letGo of running) letGo();
  await queue.close();
});

test('a closed queue refuses jobs', async () => {
  const queue = createMemoryQueue();
  await queue.close();
  await expect(queue.enqueue([job('a')])).rejects.toMatchObject({ name: 'UnavailableError', code: 'queue-closed' });
});

test('more than it may hold is refused, all of it, and what waits stays', async () => {
  const queue = createMemoryQueue();
  const one = job('a', { definition: 'd' });
  await queue.enqueue([one]);
  const many = Array.from({ length: WAITING_JOBS_MAX }, () => one);
  await expect(queue.enqueue(many)).rejects.toMatchObject({ name: 'LimitError', code: 'queue-full' });
  const taken: string[] = [];
  await queue.consume({ concurrency: 1, routes: routesOf('d') }, async ({ workflow }) => void taken.push(workflow));
  await expect.poll(() => taken).toEqual(['a']);
  await queue.close();
});
