/** Runs the contract of JobQueue on BullMQ, and what only this adapter promises. */

import { jobQueueContract } from '@tidemark/testkit/contracts/job-queue';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
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
});
