/**
 * Owns the EventLog on a Kafka topic: checks partition numbers, and passes the work to appender and reader. Must not encode, send or retry
 * by itself.
 */

import { InvalidError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { AppendOptions, EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';
import { LOG_RULES } from './administration.ts';
import { Appender } from './appender.ts';
import { LeaderAppendClient } from './leader-append-client.ts';
import { type KafkaTopicOptions, type OpenedTopic, openTopic, type TopicUse } from './open-topic.ts';
import type { Reader } from './reader.ts';
import { growTopic, type TopicParts } from './topic.ts';
import type { Topology } from './topology.ts';

const USE: TopicUse = { rules: LOG_RULES, holds: 'the log', partitions: 64, readsInFlightMax: 64 };

export class KafkaLog implements EventLog {
  readonly durability: 'power' | 'process';
  readonly recordMaxBytes: number;
  readonly #parts: TopicParts;
  readonly #topology: Topology;
  readonly #appender: Appender;
  readonly #reader: Reader;
  #closing: Promise<void> | undefined;

  /** See `openKafkaLog`. */
  static async open(options: KafkaTopicOptions): Promise<KafkaLog> {
    return new KafkaLog(await openTopic(options, USE));
  }

  private constructor({ settings, client, ...parts }: OpenedTopic) {
    const { topology, reader } = parts;
    const recordMaxBytes = Math.min(parts.limits.recordMaxBytes, Math.floor(parts.limits.batchMaxBytes * 0.75));
    const limits = { ...parts.limits, recordMaxBytes };
    // A power loss of one machine loses nothing when another holds the acknowledged records.
    this.durability = topology.replicationFactor > 1 && settings.minInSyncReplicas > 1 ? 'power' : 'process';
    this.recordMaxBytes = recordMaxBytes;
    this.#parts = parts;
    this.#topology = topology;
    this.#reader = reader;
    this.#appender = new Appender({ topic: client.topic, limits, client: new LeaderAppendClient(client), topology });
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
