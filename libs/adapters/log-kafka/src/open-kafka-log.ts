/**
 * Owns opening log-kafka. It loads the Kafka clients only when a log is opened: they take the better part of a second, for which other
 * processes should not wait.
 */

import type { EventLog } from '@tidemark/ports';
import type { KafkaLogLimits } from './limits.ts';
import type { OnLossWarning } from './loss-warnings.ts';
import type { KafkaSecurity } from './security.ts';

export interface KafkaLogOptions extends KafkaSecurity {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly topic: string;
  /** Partitions of the topic when it is created here; an existing topic keeps its number. Default 64. */
  readonly partitions?: number;
  /** Replicas of a topic that is created here; by default the cluster's own default. */
  readonly replicationFactor?: number;
  readonly limits?: Partial<KafkaLogLimits>;
  /** Called at the opening for settings with which the loss of one broker could lose acknowledged records. */
  readonly onWarning?: OnLossWarning;
}

/**
 * Opens the log, creating the topic when it is missing. Throws `UnavailableError` `log-unavailable` when no broker
 * answers within `openTimeoutMs`; `ConfigError` `log-address-invalid`, `log-unauthorized`, `log-topic-refused`, or
 * `log-topic-unsafe` when the topic's settings would lose records.
 */
export async function openKafkaLog(options: KafkaLogOptions): Promise<EventLog> {
  const { openLog } = await import('./kafka-log.ts');
  return openLog(options);
}
