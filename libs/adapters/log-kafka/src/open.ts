/**
 * Owns opening log-kafka. It loads the Kafka clients only when something is opened: they take the better part of a second, for which other
 * processes should not wait.
 */

import type { EventLog, KeyTopic } from '@tidemark/ports';
import type { KafkaKeyTopicOptions } from './kafka-key-topic.ts';
import type { KafkaTopicOptions } from './open-topic.ts';

/**
 * Opens the log, creating the topic when it is missing. Throws `UnavailableError` `log-unavailable` when no broker
 * answers within `openTimeoutMs`; `ConfigError` `log-address-invalid`, `log-unauthorized`, `log-topic-refused`, or
 * `log-topic-unsafe` when the topic's settings would lose records.
 */
export async function openKafkaLog(options: KafkaTopicOptions): Promise<EventLog> {
  const { KafkaLog } = await import('./kafka-log.ts');
  return KafkaLog.open(options);
}

/**
 * Opens the topic of wrapped keys, creating it when it is missing. It is compacted, so that the old bytes of a destroyed or replaced key go
 * within about an hour. Throws as `openKafkaLog` does; `log-topic-unsafe`: the topic isn't compacted alone, and would lose keys or keep
 * destroyed ones, or a replica that lacks some may lead it.
 */
export async function openKafkaKeyTopic(options: KafkaKeyTopicOptions): Promise<KeyTopic> {
  const { KafkaKeyTopic } = await import('./kafka-key-topic.ts');
  return KafkaKeyTopic.open(options);
}
