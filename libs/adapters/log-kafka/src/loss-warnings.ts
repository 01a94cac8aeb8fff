/**
 * Owns the warnings about a topic, of the log or of keys, whose settings let acknowledged records be lost with one broker. Must not refuse
 * anything (see administration.ts).
 */

import { misfitText, type TopicSettings } from './administration.ts';

export type OnLossWarning = (code: 'log-one-replica' | 'log-one-in-sync' | 'log-topic-lax', message: string) => void;

export interface KeptTopic extends Pick<TopicSettings, 'minInSyncReplicas' | 'lax'> {
  readonly topic: string;
  /** What the topic holds, as messages name it: `the log`. */
  readonly holds: string;
  /** Replicas of the partition that has the fewest. */
  readonly replicationFactor: number;
}

/** Warns if acknowledged records would be lost with one broker's disk, or destroyed ones kept. */
export function warnOfLoss(
  { topic, holds, replicationFactor, minInSyncReplicas, lax }: KeptTopic,
  warn: OnLossWarning,
): void {
  for (const misfit of lax) {
    warn('log-topic-lax', `The Kafka topic "${topic}" has ${misfitText(misfit)}: what is destroyed stays for longer.`);
  }
  if (replicationFactor < 2) {
    const message = `The Kafka topic "${topic}" has one replica: losing that broker's disk loses ${holds}. Give it three, and min.insync.replicas=2.`;
    warn('log-one-replica', message);
  } else if (minInSyncReplicas < 2) {
    const message = `The Kafka topic "${topic}" has min.insync.replicas=${minInSyncReplicas}: a record counts as acknowledged once one replica has stored it, and is lost with that replica. Set it to 2.`;
    warn('log-one-in-sync', message);
  }
}
