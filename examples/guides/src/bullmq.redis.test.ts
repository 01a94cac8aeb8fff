/** The job that the guide on BullMQ moves from, on a real Redis. */

import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { Queue, QueueEvents } from 'bullmq';
import { expect, test } from 'vitest';
import { order, startFulfilling } from './bullmq-before.ts';
import { lookOutside } from './outside.ts';

describeServers('the job', ['redis'], (servers) => {
  test('charges and ships', async () => {
    const connection = { url: servers.redis };
    const queue = new Queue(freshRedisPrefix().replaceAll(':', '-'), { connection });
    const events = new QueueEvents(queue.name, { connection });
    const worker = startFulfilling(queue);
    await events.waitUntilReady();
    expect(await (await order(queue, 'order-7')).waitUntilFinished(events)).toBe('charge-1');
    expect(lookOutside()).toEqual(['charge order-7', 'ship order-7']);
    await Promise.all([worker.close(), events.close()]);
    await queue.obliterate({ force: true });
    await queue.close();
  });
});
