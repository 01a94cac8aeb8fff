/** Owns opening the topic of wrapped keys. It loads the Kafka clients only then (see open-kafka-log.ts). */

import type { KeyTopic } from '@tidemark/ports';
import type { KafkaLogLimits } from './limits.ts';
import type { OnLossWarning } from './loss-warnings.ts';
import type { KafkaSecurity } from './security.ts';

export interface KafkaKeyTopicOptions extends KafkaSecurity {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly topic: string;
  /** Partitions of the topic when it is created here. Default 1. It must not grow later: a key would have two places. */
  readonly partitions?: number;
  /** Replicas of a topic that is created here; by default the cluster's own default. */
  readonly replicationFactor?: number;
  readonly limits?: Partial<KafkaLogLimits>;
  /** Longest wait for an acknowledgement, over all attempts, in milliseconds. */
  readonly appendTimeoutMs?: number;
  /** As for the log: called at the opening for settings with which the loss of one broker could lose acknowledged keys. */
  readonly onWarning?: OnLossWarning;
}

/**
 * Opens the topic, creating it when it is missing. It is compacted, so that the old bytes of a destroyed or replaced key go within about an
 * hour. Throws as `openKafkaLog` does; `log-topic-unsafe`: the topic isn't compacted alone, and would lose keys or keep destroyed ones, or
 * a replica that lacks some may lead it.
 */
export async function openKafkaKeyTopic(options: KafkaKeyTopicOptions): Promise<KeyTopic> {
  const { openTopic } = await import('./kafka-key-topic.ts');
  return openTopic(options);
}
