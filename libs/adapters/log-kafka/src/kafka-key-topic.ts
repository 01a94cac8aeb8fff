/**
 * Owns the topic of wrapped keys on Kafka, the truth about which keys exist. Appends use the log's appender: acks=all, and after an unclear
 * answer the same bytes again, until they are known to be stored. Must not know what wraps the keys.
 */

import { crc32 } from 'node:zlib';
import { type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { KeyOffsets, KeyPage, KeyTopic, LogRecord, StoredKey } from '@tidemark/ports';
import { parseAddresses, showAddress } from './address.ts';
import { Administration, NO_UNCLEAN_LEADER, type TopicRules } from './administration.ts';
import type { AppendClient, LaneKind, PartitionBatch } from './append-client.ts';
import { Appender } from './appender.ts';
import type { ChannelOptions } from './channel.ts';
import { KeyReader } from './key-reader.ts';
import { destroyRecords, encodeKeyed, putRecord } from './key-records.ts';
import { LeaderAppendClient } from './leader-append-client.ts';
import {
  defaultLimits,
  type KafkaLogLimits,
  KEY_APPEND_TIMEOUT_MS,
  KEY_COMPACTION_LAG_MS,
  KEYS_DESTROYED_AT_ONCE,
} from './limits.ts';
import { warnOfLoss } from './loss-warnings.ts';
import type { KafkaKeyTopicOptions } from './open-key-topic.ts';
import { Reader } from './reader.ts';
import { platformaticSecurity } from './security.ts';
import { createTopic, reach, type TopicParts } from './topic.ts';
import { Topology } from './topology.ts';
import type { BrokerNode } from './wire-partitions.ts';

/** The topic is compacted and nothing else: with `delete` too, Kafka would delete keys that nobody destroyed. */
const RULES: TopicRules = {
  kept: { 'cleanup.policy': 'compact', ...NO_UNCLEAN_LEADER },
  made: { 'max.compaction.lag.ms': String(KEY_COMPACTION_LAG_MS) },
};

/** What is lost with the topic. */
const CONTENT = 'the keys, and with them all that they have sealed';

/** See `openKafkaKeyTopic`. */
export async function openTopic(options: KafkaKeyTopicOptions): Promise<KeyTopic> {
  const { topic, partitions = 1, replicationFactor = -1 } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const { connectTimeoutMs, reconnectMs, administrationTimeoutMs: timeoutMs } = limits;
  const seeds = parseAddresses(options.brokers);
  const brokers = seeds.map(showAddress);
  const security = platformaticSecurity(options);
  const requestTimeoutMs = limits.readTimeoutMs;
  const channel = { connectTimeoutMs, reconnectMs, requestTimeoutMs, inFlightMax: 1, security };
  const topology = new Topology({ topic, seeds, channel });
  const reader = new Reader({ topic, limits, channel, topology });
  const administration = new Administration({
    topic,
    rules: RULES,
    brokers,
    security: options,
    connectTimeoutMs,
    timeoutMs,
  });
  try {
    const parts: TopicParts = { limits, topology, reader, administration };
    await reach(parts);
    if (topology.partitionCount === 0) await createTopic(parts, partitions, replicationFactor);
    // A topic that someone else created may take less than this library would have set.
    const { batchMaxBytes, minInSyncReplicas } = await administration.settings();
    const { replicationFactor: replicas } = topology;
    if (options.onWarning) {
      warnOfLoss({ topic, holds: CONTENT, replicationFactor: replicas, minInSyncReplicas }, options.onWarning);
    }
    const fitting = { ...limits, batchMaxBytes: Math.min(limits.batchMaxBytes, batchMaxBytes) };
    return new KafkaKeyTopic(options, fitting, { topology, reader, channel });
  } catch (error) {
    reader.close();
    topology.close();
    throw error;
  }
}

interface Connections {
  readonly topology: Topology;
  readonly reader: Reader;
  readonly channel: ChannelOptions;
}

class KafkaKeyTopic implements KeyTopic {
  readonly place: string;
  readonly #topology: Topology;
  readonly #reader: Reader;
  readonly #keyReader: KeyReader;
  readonly #appender: Appender;
  readonly #partitionCount: number;
  readonly #appendTimeoutMs: number;
  #closing: Promise<void> | undefined;

  constructor(options: KafkaKeyTopicOptions, limits: KafkaLogLimits, { topology, reader, channel }: Connections) {
    const { topic } = options;
    const { appendTimeoutMs, appendGraceMs } = limits;
    const requestTimeoutMs = appendTimeoutMs + appendGraceMs;
    const client = new KeyedAppendClient({ topic, channel: { ...channel, requestTimeoutMs }, appendTimeoutMs });
    this.place = `the Kafka topic "${topic}"`;
    this.#topology = topology;
    this.#reader = reader;
    this.#keyReader = new KeyReader({ topic, limits, channel, topology, reader });
    this.#appender = new Appender({ topic, limits, client, topology });
    this.#partitionCount = topology.partitionCount;
    this.#appendTimeoutMs = options.appendTimeoutMs ?? KEY_APPEND_TIMEOUT_MS;
  }

  async append(keys: readonly StoredKey[]): Promise<void> {
    await this.#appended(keys.map((key) => [key.id, [putRecord(key)]]));
  }

  async destroy(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += KEYS_DESTROYED_AT_ONCE) {
      await this.#appended(ids.slice(at, at + KEYS_DESTROYED_AT_ONCE).map((id) => [id, destroyRecords(id)]));
    }
  }

  async *readAll(from: KeyOffsets = new Map<Partition, Offset>()): AsyncIterable<KeyPage> {
    if (this.#closing !== undefined) throw new UnavailableError('keys-unavailable', 'The topic of keys is closed.');
    const pages = this.#keyReader.read(from)[Symbol.asyncIterator]();
    for (;;) {
      const page = await pages.next().catch((error: unknown) => {
        throw unavailable(error);
      });
      if (page.done === true) return;
      yield page.value;
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#appender.close().then(() => {
      this.#keyReader.close();
      this.#reader.close();
      this.#topology.close();
    });
    return this.#closing;
  }

  /** Sends all records of a key to one partition, and those of one call together. */
  async #appended(records: readonly (readonly [id: string, records: readonly LogRecord[]])[]): Promise<void> {
    const byPartition = new Map<number, LogRecord[]>();
    for (const [id, own] of records) {
      const partition = crc32(id) % this.#partitionCount;
      const others = byPartition.get(partition);
      if (others === undefined) byPartition.set(partition, [...own]);
      else others.push(...own);
    }
    const signal = AbortSignal.timeout(this.#appendTimeoutMs);
    const appends = Array.from(byPartition, ([partition, all]) => this.#appender.append(partition, all, signal));
    // Waits for each, also when another failed: nothing of this call is under way when it returns.
    const failed = (await Promise.allSettled(appends)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw unavailable((failed as PromiseRejectedResult).reason);
  }
}

/** Sends batches of this topic's own bytes over the log's client, which sends an encoded batch as it is. */
class KeyedAppendClient implements AppendClient {
  readonly #client: LeaderAppendClient;

  constructor(options: ConstructorParameters<typeof LeaderAppendClient>[0]) {
    this.#client = new LeaderAppendClient(options);
  }

  append(leader: BrokerNode, lane: LaneKind, batches: readonly PartitionBatch[]) {
    for (const batch of batches) if (batch.encoded === undefined) encodeKeyed(batch);
    return this.#client.append(leader, lane, batches);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Translates the appender's errors to what the port promises; others stay as they are. */
function unavailable(error: unknown): unknown {
  if (!(error instanceof UnavailableError)) return error;
  return new UnavailableError('keys-unavailable', `The topic of keys can't be used: ${error.message}`, {
    cause: error,
  });
}
