/** The contract of EventLog on Kafka. */

import type { Offset, Partition } from '@tidemark/core';
import { eventLogContract } from '@tidemark/testkit/contracts/event-log';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import kafkajs from 'kafkajs';
import { expect, it } from 'vitest';
import { openKafkaLog } from './index.ts';
import { startLossyProxy } from './lossy-proxy-fixture.ts';

describeServers('log-kafka', ['kafka'], (servers) => {
  eventLogContract('kafka', async () => {
    const topic = freshTopicName('contract');
    // A busy test machine must not look like an ambiguous append, whose second copy would shift the offsets.
    const limits = { appendTimeoutMs: 30_000 };
    const open = () => openKafkaLog({ brokers: [servers.kafka], topic, partitions: 48, limits });
    let log = await open();
    return {
      log,
      async reopen() {
        await log.close();
        log = await open();
        return log;
      },
      another: open,
      async cleanup() {
        await log.close();
        await deleteTopic(servers.kafka, topic);
      },
    };
  });

  it('reads many partitions in few answers, also where their first records alone are more than it may read', async () => {
    const topic = freshTopicName('backlog');
    const proxy = await startLossyProxy(servers.kafka);
    const log = await openKafkaLog({ brokers: [proxy.address], topic, partitions: 256 });
    try {
      const partitions = Array.from({ length: 256 }, (_, at) => at as Partition);
      const record = { value: Buffer.alloc(20_000, 'x'), type: 'x' };
      await Promise.all(partitions.map((partition) => log.append(partition, [record, record])));
      const { fetchCount } = proxy;
      const requests = partitions.map((partition) => ({ partition, from: 0 as Offset }));
      const results = await log.read(requests, { maxBytes: 1_000_000 });
      expect(results.every(({ records }) => records.length > 0)).toBe(true);
      expect(proxy.fetchCount - fetchCount).toBeLessThan(16);
    } finally {
      await log.close();
      await proxy.close();
      await deleteTopic(servers.kafka, topic);
    }
  });
});

async function deleteTopic(broker: string, topic: string): Promise<void> {
  const admin = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
}
