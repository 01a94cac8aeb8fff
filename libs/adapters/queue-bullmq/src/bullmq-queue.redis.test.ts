/** Runs the contract of JobQueue on BullMQ, and what only this adapter promises. */

import { jobQueueContract } from '@tidemark/testkit/contracts/job-queue';
import { job } from '@tidemark/testkit/contracts/job-queue-jobs';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { openBullmqQueue } from './bullmq-queue.ts';

describeServers('queue-bullmq', ['redis'], ({ redis: url }) => {
  jobQueueContract('bullmq', async () => {
    const queue = openBullmqQueue({ url, prefix: freshRedisPrefix() });
    return { queue, close: () => queue.close() };
  });
  jobQueueContract('bullmq, one job per wake-up', async () => {
    const queue = openBullmqQueue({ url, prefix: freshRedisPrefix(), limits: { jobsPerWakeupMax: 1 } });
    return { queue, close: () => queue.close() };
  });

  it('forgets the route of a build once nothing waits there, and names it anew with the next job', async () => {
    const prefix = freshRedisPrefix();
    const queue = openBullmqQueue({ url, prefix });
    const redis = new Redis(url);
    try {
      const routes = async (): Promise<string[]> => {
        const keys = await redis.keys(`${prefix}*:routes`);
        return keys.length === 0 ? [] : redis.smembers(keys[0]!);
      };
      const send = () => queue.enqueue([job('w', { definition: 'd', build: 'gone' })]);
      const depth = async () => (await queue.depth(['d'])).get('d');
      await send();
      expect(await depth()).toBe(1);
      expect(await routes()).toEqual(['1~gone']);
      const jobs = await redis.keys(`${prefix}*:waiting-*`);
      // As a day does.
      await redis.del(...jobs);
      expect(await depth()).toBe(0);
      expect(await routes()).toEqual([]);
      await send();
      expect(await depth()).toBe(1);
    } finally {
      redis.disconnect();
      await queue.close();
    }
  });
});
