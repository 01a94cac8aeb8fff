/** Owns opening a topic: its parts in the right order, its creation when it is missing, and the check of its settings. */

import { parseAddresses, showAddress } from './address.ts';
import { Administration, type TopicRules, type TopicSettings } from './administration.ts';
import type { LeaderAppendClientOptions } from './leader-append-client.ts';
import { defaultLimits, type KafkaLogLimits } from './limits.ts';
import { type OnLossWarning, warnOfLoss } from './loss-warnings.ts';
import { Reader } from './reader.ts';
import { type KafkaSecurity, platformaticSecurity } from './security.ts';
import { createTopic, reach, type TopicParts } from './topic.ts';
import { Topology } from './topology.ts';

export interface KafkaTopicOptions extends KafkaSecurity {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly topic: string;
  /**
   * Partitions of the topic when it is created here; an existing topic keeps its number. Default: 64 for the log, 1 for the keys. A topic of
   * keys must not grow later: a key would then be in two partitions.
   */
  readonly partitions?: number;
  /** Replicas of a topic that is created here; by default the cluster's own default. */
  readonly replicationFactor?: number;
  readonly limits?: Partial<KafkaLogLimits>;
  /** Called while the topic is opened, if its settings let acknowledged records be lost with one broker. */
  readonly onWarning?: OnLossWarning;
}

/** What a topic is for. */
export interface TopicUse {
  readonly rules: TopicRules;
  /** What the topic holds, as messages name it: `the log`. */
  readonly holds: string;
  /** Partitions of a topic that is created here, unless the options give their number. */
  readonly partitions: number;
  /** Pipelined fetches on one connection; the broker answers them in order. */
  readonly readsInFlightMax: number;
}

export interface OpenedTopic extends TopicParts {
  readonly settings: TopicSettings;
  readonly client: LeaderAppendClientOptions;
}

/** Throws as `openKafkaLog` does. */
export async function openTopic(options: KafkaTopicOptions, use: TopicUse): Promise<OpenedTopic> {
  const { topic, partitions = use.partitions, replicationFactor = -1, onWarning } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const { connectTimeoutMs, reconnectMs, administrationTimeoutMs, appendTimeoutMs, appendGraceMs } = limits;
  const seeds = parseAddresses(options.brokers);
  const security = platformaticSecurity(options);
  const channel = { connectTimeoutMs, reconnectMs, requestTimeoutMs: limits.readTimeoutMs, inFlightMax: 1, security };
  const topology = new Topology({ topic, seeds, channel });
  const reader = new Reader({ topic, limits, channel: { ...channel, inFlightMax: use.readsInFlightMax }, topology });
  const administration = new Administration({
    ...{ topic, rules: use.rules, security: options, connectTimeoutMs },
    brokers: seeds.map(showAddress),
    timeoutMs: administrationTimeoutMs,
  });
  const parts: TopicParts = { limits, topology, reader, administration };
  try {
    await reach(parts);
    if (topology.partitionCount === 0) await createTopic(parts, partitions, replicationFactor);
    const settings = await administration.settings(topology.replicationFactor);
    const { holds } = use;
    if (onWarning) warnOfLoss({ topic, holds, replicationFactor: topology.replicationFactor, ...settings }, onWarning);
    // A topic that someone else created may take less than this library would have set.
    const batchMaxBytes = Math.min(limits.batchMaxBytes, settings.batchMaxBytes);
    const requestTimeoutMs = appendTimeoutMs + appendGraceMs;
    const client = { topic, channel: { ...channel, requestTimeoutMs }, appendTimeoutMs };
    return { ...parts, limits: { ...limits, batchMaxBytes }, settings, client };
  } catch (error) {
    reader.close();
    topology.close();
    throw error;
  }
}
