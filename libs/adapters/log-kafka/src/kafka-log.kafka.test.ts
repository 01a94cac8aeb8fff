/** The contract of EventLog on Kafka. */

import { eventLogContract } from '@tidemark/testkit/contracts/event-log';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import kafkajs from 'kafkajs';
import { openKafkaLog } from './index.ts';

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
});

async function deleteTopic(broker: string, topic: string): Promise<void> {
  const admin = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
}
