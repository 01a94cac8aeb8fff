/**
 * Owns creating and growing the topic: it retries until a broker answers, creates it, adds partitions, and waits until every partition is
 * usable. Must not read or write records.
 */

import { UnavailableError } from '@tidemark/core';
import type { Administration } from './administration.ts';
import type { KafkaLogLimits } from './limits.ts';
import type { Reader } from './reader.ts';
import type { Topology } from './topology.ts';

export interface TopicParts {
  readonly limits: KafkaLogLimits;
  readonly topology: Topology;
  readonly administration: Administration;
  readonly reader: Reader;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Tries the brokers until one answers, for `openTimeoutMs`. */
export async function reach({ topology, limits }: TopicParts): Promise<void> {
  const untilMs = performance.now() + limits.openTimeoutMs;
  for (let pauseMs = limits.reconnectMs; ; pauseMs = Math.min(pauseMs * 2, limits.resendMaxMs)) {
    try {
      await topology.refresh();
      return;
    } catch (error) {
      if (!(error instanceof UnavailableError) || performance.now() + pauseMs > untilMs) throw error;
      await pause(pauseMs);
    }
  }
}

export async function createTopic(parts: TopicParts, partitions: number, replicationFactor: number): Promise<void> {
  await parts.administration.create({ partitions, replicationFactor, batchMaxBytes: parts.limits.batchMaxBytes });
  await untilServed(parts, 0, 1);
}

/** Harmless when repeated, and when several processes do it at once. */
export async function growTopic(parts: TopicParts, count: number): Promise<void> {
  const { topology, administration } = parts;
  await topology.refresh();
  const had = topology.partitionCount;
  if (had >= count) return;
  await administration.grow(count);
  await untilServed(parts, had, count);
}

/**
 * Waits until there are `count` partitions and the leader of each answers for it; those below `known` do already. The cluster names a
 * leader well before that broker has created the partition's files.
 */
async function untilServed({ topology, reader, limits }: TopicParts, known: number, count: number): Promise<void> {
  const untilMs = performance.now() + limits.administrationTimeoutMs;
  for (let pauseMs = limits.resendMinMs; ; pauseMs = Math.min(pauseMs * 2, limits.resendMaxMs)) {
    let cause: unknown;
    try {
      await topology.refresh();
      if (topology.partitionCount >= count) {
        await reader.bounds(Array.from({ length: topology.partitionCount - known }, (_, index) => known + index));
        return;
      }
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      cause = error;
    }
    if (performance.now() + pauseMs > untilMs) {
      const message = `Kafka did not make the topic's partitions ready, ${count} in all, in time.`;
      throw new UnavailableError('log-unavailable', message, { count, cause });
    }
    await pause(pauseMs);
  }
}
