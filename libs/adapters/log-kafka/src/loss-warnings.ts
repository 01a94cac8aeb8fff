/**
 * Owns when a topic's settings let the loss of one broker lose acknowledged records, and the warning about that; of the log and of the keys
 * alike. Must not refuse anything (see administration.ts).
 */

import type { TopicSettings } from './administration.ts';

export type OnLossWarning = (code: 'log-one-replica' | 'log-one-in-sync', message: string) => void;

export interface KeptTopic extends Pick<TopicSettings, 'minInSyncReplicas'> {
  readonly topic: string;
  /** What is lost with it: `the log`. */
  readonly holds: string;
  /** Replicas of the partition that has the fewest. */
  readonly replicationFactor: number;
}

/** Warns where one broker that is lost with its disk would lose acknowledged records. */
export function warnOfLoss(
  { topic, holds, replicationFactor, minInSyncReplicas }: KeptTopic,
  warn: OnLossWarning,
): void {
  if (replicationFactor < 2) {
    const message = `The Kafka topic "${topic}" has one replica: losing that broker's disk loses ${holds}. Give it three, and min.insync.replicas=2.`;
    warn('log-one-replica', message);
  } else if (minInSyncReplicas < 2) {
    const message = `The Kafka topic "${topic}" has min.insync.replicas=${minInSyncReplicas}: what one replica alone has stored is acknowledged, and lost with it. Set it to 2.`;
    warn('log-one-in-sync', message);
  }
}
