/**
 * Owns the EventLog on a Kafka topic: opens topology, administration, appender and reader in the right order, and checks
 * partition numbers. Must not encode, send or retry by itself.
 */

import { InvalidError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { AppendOptions, EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';
import { type Address, parseAddresses, showAddress } from './address.ts';
import { Administration, type TopicSettings } from './administration.ts';
import type { AppendClient } from './append-client.ts';
import { Appender } from './appender.ts';
import type { ChannelOptions } from './channel.ts';
import { LeaderAppendClient } from './leader-append-client.ts';
import { defaultLimits, type KafkaLogLimits } from './limits.ts';
import { warnOfLoss } from './loss-warnings.ts';
import type { KafkaLogOptions } from './open-kafka-log.ts';
import { Reader } from './reader.ts';
import { platformaticSecurity } from './security.ts';
import { createTopic, growTopic, reach, type TopicParts } from './topic.ts';
import { Topology } from './topology.ts';

const DEFAULT_PARTITIONS = 64;
/** Pipelined fetches on one connection; the broker answers them in order. */
const READS_IN_FLIGHT_MAX = 64;

/** What the options come to. */
interface Settings {
  readonly options: KafkaLogOptions;
  readonly seeds: readonly Address[];
  readonly brokers: readonly string[];
  readonly limits: KafkaLogLimits;
}

/** See `openKafkaLog`. */
export async function openLog(options: KafkaLogOptions): Promise<EventLog> {
  const seeds = parseAddresses(options.brokers);
  const limits = { ...defaultLimits, ...options.limits };
  const brokers = seeds.map(showAddress);
  const settings: Settings = { options, seeds, brokers, limits };
  const { topic } = options;
  const channel = channelOptions(settings, 1, limits.readTimeoutMs);
  const topology = new Topology({ topic, seeds, channel });
  const reader = new Reader({ topic, limits, channel: { ...channel, inFlightMax: READS_IN_FLIGHT_MAX }, topology });
  const parts: TopicParts = { limits, topology, reader, administration: newAdministration(settings) };
  try {
    await reach(parts);
    if (topology.partitionCount === 0) {
      await createTopic(parts, options.partitions ?? DEFAULT_PARTITIONS, options.replicationFactor ?? -1);
    }
    const found = await parts.administration.settings();
    const { replicationFactor } = topology;
    if (options.onWarning) warnOfLoss({ topic, holds: 'the log', replicationFactor, ...found }, options.onWarning);
    return new KafkaLog(settings, parts, found);
  } catch (error) {
    reader.close();
    topology.close();
    throw error;
  }
}

function channelOptions({ options, limits }: Settings, inFlightMax: number, requestTimeoutMs: number): ChannelOptions {
  const { connectTimeoutMs, reconnectMs } = limits;
  const security = platformaticSecurity(options);
  return { connectTimeoutMs, reconnectMs, requestTimeoutMs, inFlightMax, security };
}

function newAdministration({ options, brokers, limits }: Settings): Administration {
  const { connectTimeoutMs, administrationTimeoutMs: timeoutMs } = limits;
  return new Administration({
    topic: options.topic,
    brokers,
    security: options,
    connectTimeoutMs,
    timeoutMs,
  });
}

function newAppendClient(settings: Settings): AppendClient {
  const { appendTimeoutMs, appendGraceMs } = settings.limits;
  const channel = channelOptions(settings, 1, appendTimeoutMs + appendGraceMs);
  return new LeaderAppendClient({ topic: settings.options.topic, channel, appendTimeoutMs });
}

class KafkaLog implements EventLog {
  readonly durability: 'power' | 'process';
  readonly recordMaxBytes: number;
  readonly #parts: TopicParts;
  readonly #topology: Topology;
  readonly #appender: Appender;
  readonly #reader: Reader;
  #closing: Promise<void> | undefined;

  constructor(settings: Settings, parts: TopicParts, topic: TopicSettings) {
    const { topology, reader } = parts;
    // A topic that someone else created may take less than this library would have set.
    const batchMaxBytes = Math.min(settings.limits.batchMaxBytes, topic.batchMaxBytes);
    const recordMaxBytes = Math.min(settings.limits.recordMaxBytes, Math.floor(batchMaxBytes * 0.75));
    const limits = { ...settings.limits, batchMaxBytes, recordMaxBytes };
    // A power loss of one machine loses nothing when another holds the acknowledged records.
    this.durability = topology.replicationFactor > 1 && topic.minInSyncReplicas > 1 ? 'power' : 'process';
    this.recordMaxBytes = recordMaxBytes;
    this.#parts = parts;
    this.#topology = topology;
    this.#reader = reader;
    this.#appender = new Appender({
      topic: settings.options.topic,
      limits,
      client: newAppendClient(settings),
      topology,
    });
  }

  async partitionCount(): Promise<number> {
    this.#checkOpen();
    await this.#topology.refresh();
    return this.#topology.partitionCount;
  }

  async growTo(count: number): Promise<number> {
    this.#checkOpen();
    await growTopic(this.#parts, count);
    return this.#topology.partitionCount;
  }

  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    if (this.#isKnown(partition)) return this.#appender.append(partition, records, options?.signal);
    return this.#checkPartitions([partition]).then(() => this.#appender.append(partition, records, options?.signal));
  }

  async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    this.#checkOpen();
    if (requests.length === 0) return [];
    await this.#checkPartitions(requests.map(({ partition }) => partition));
    return this.#reader.read(requests, options?.maxBytes ?? this.#parts.limits.readMaxBytes);
  }

  async bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    this.#checkOpen();
    if (partitions === undefined) await this.#topology.refresh();
    else await this.#checkPartitions(partitions);
    return this.#reader.bounds(
      partitions ?? Array.from({ length: this.#topology.partitionCount }, (_, index) => index),
    );
  }

  async trim(partition: Partition, before: Offset): Promise<void> {
    const { start, end } = (await this.bounds([partition])).get(partition)!;
    if (before > end) {
      const details = { partition, before, end };
      throw new InvalidError(
        'trim-past-end',
        `Partition ${partition} ends at ${end}; it cannot be trimmed to ${before}.`,
        details,
      );
    }
    if (before > start) await this.#reader.deleteRecords(partition, before);
  }

  async sizeBytes(): Promise<number> {
    this.#checkOpen();
    await this.#topology.refresh();
    return this.#reader.sizeBytes(Array.from({ length: this.#topology.partitionCount }, (_, index) => index));
  }

  close(): Promise<void> {
    this.#closing ??= this.#appender.close().then(() => {
      this.#reader.close();
      this.#topology.close();
    });
    return this.#closing;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new UnavailableError('log-closed', 'The log is closed.');
  }

  #isKnown(partition: number): boolean {
    return Number.isInteger(partition) && partition >= 0 && partition < this.#topology.partitionCount;
  }

  /** An unknown number may be of a partition that another process has added. */
  async #checkPartitions(partitions: readonly number[]): Promise<void> {
    if (partitions.every((partition) => this.#isKnown(partition))) return;
    await this.#topology.refresh();
    const unknown = partitions.find((partition) => !this.#isKnown(partition));
    if (unknown === undefined) return;
    const partitionCount = this.#topology.partitionCount;
    const message = `Partition ${unknown} does not exist; the log has ${partitionCount}, counted from 0.`;
    throw new InvalidError('partition-unknown', message, { partition: unknown, partitionCount });
  }
}
