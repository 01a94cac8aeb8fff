/**
 * Owns opening log-kafka. It loads the Kafka clients only when something is opened: they take the better part of a second, for which other
 * processes should not wait.
 */

import type { EventLog, KeyTopic } from '@tidemark/ports';
import type { KafkaLogLimits } from './limits.ts';
import type { OnLossWarning } from './loss-warnings.ts';
import type { KafkaSecurity } from './security.ts';

export interface KafkaTopicOptions extends KafkaSecurity {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly topic: string;
  /**
   * Partitions of the topic when it is created here; an existing topic keeps its number. Default: 64 of the log, 1 of the keys. A topic of
   * keys must not grow later: a key would have two places.
   */
  readonly partitions?: number;
  /** Replicas of a topic that is created here; by default the cluster's own default. */
  readonly replicationFactor?: number;
  readonly limits?: Partial<KafkaLogLimits>;
  /** Called at the opening for settings with which the loss of one broker could lose acknowledged records. */
  readonly onWarning?: OnLossWarning;
}

export interface KafkaKeyTopicOptions extends KafkaTopicOptions {
  /** Longest wait for an acknowledgement, over all attempts, in milliseconds. */
  readonly appendTimeoutMs?: number;
}

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
