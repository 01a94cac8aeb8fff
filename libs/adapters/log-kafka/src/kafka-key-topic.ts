/**
 * Owns the topic of wrapped keys on Kafka, the truth about which keys exist. Appends use the log's appender: acks=all, and after an unclear
 * answer the same bytes again, until they are known to be stored. Must not know what wraps the keys.
 */

import { crc32 } from 'node:zlib';
import { CorruptError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { KeyOffsets, KeyPage, KeyTopic, LogRecord, PartitionBounds, StoredKey } from '@tidemark/ports';
import { NO_UNCLEAN_LEADER } from './administration.ts';
import { Appender } from './appender.ts';
import { decodeChanges, destroyRecords, encodeKeyed, putRecord } from './key-records.ts';
import { LeaderAppendClient } from './leader-append-client.ts';
import { type KafkaTopicOptions, type OpenedTopic, openTopic, type TopicUse } from './open-topic.ts';
import type { Reader } from './reader.ts';
import type { Topology } from './topology.ts';

/** Of the topic of wrapped keys: milliseconds after which an unacknowledged put or destruction fails. */
const KEY_APPEND_TIMEOUT_MS = 30_000;
/** Ids that one append destroys at most. */
const KEYS_DESTROYED_AT_ONCE = 1_000;
/** Milliseconds after which the brokers begin to clear destroyed and replaced bytes at the latest: `max.compaction.lag.ms`. */
const KEY_COMPACTION_LAG_MS = 3_600_000;

export interface KafkaKeyTopicOptions extends KafkaTopicOptions {
  /** Longest wait for an acknowledgement, over all attempts, in milliseconds. */
  readonly appendTimeoutMs?: number;
}

const USE: TopicUse = {
  rules: {
    // Compacted and nothing else: with `delete` too, Kafka would delete keys that nobody destroyed.
    kept: { 'cleanup.policy': 'compact', ...NO_UNCLEAN_LEADER },
    made: { 'max.compaction.lag.ms': String(KEY_COMPACTION_LAG_MS) },
  },
  holds: 'the keys, and with them all that they have sealed',
  partitions: 1,
  readsInFlightMax: 1,
};

export class KafkaKeyTopic implements KeyTopic {
  readonly place: string;
  readonly #topology: Topology;
  readonly #reader: Reader;
  readonly #appender: Appender;
  readonly #partitionCount: number;
  readonly #fetchMaxBytes: number;
  readonly #appendTimeoutMs: number;
  #closing: Promise<void> | undefined;

  /** See `openKafkaKeyTopic`. */
  static async open(options: KafkaKeyTopicOptions): Promise<KafkaKeyTopic> {
    return new KafkaKeyTopic(await openTopic(options, USE), options.appendTimeoutMs);
  }

  private constructor(
    { limits, topology, reader, client: { topic, ...client } }: OpenedTopic,
    appendTimeoutMs = KEY_APPEND_TIMEOUT_MS,
  ) {
    this.place = `the Kafka topic "${topic}"`;
    this.#topology = topology;
    this.#reader = reader;
    this.#fetchMaxBytes = limits.batchMaxBytes;
    this.#appender = new Appender({
      topic,
      limits,
      client: new LeaderAppendClient({ topic, ...client, encode: encodeKeyed }),
      topology,
    });
    this.#partitionCount = topology.partitionCount;
    this.#appendTimeoutMs = appendTimeoutMs;
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
    const all = Array.from({ length: this.#topology.partitionCount }, (_, index) => index);
    try {
      for (const [partition, bounds] of await this.#reader.bounds(all)) {
        yield* this.#pages(partition, from.get(partition) ?? bounds.start, bounds);
      }
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** Throws `CorruptError` (`log-damaged`, `log-trimmed`, `log-past-end`). Unlike the log's, the offsets have gaps where compaction has cleared records. */
  async *#pages(partition: Partition, from: Offset, { start, end }: PartitionBounds): AsyncIterable<KeyPage> {
    const details = { partition, from, start, end };
    if (from < start) {
      const message = `Partition ${partition} of the keys starts at ${start}; ${from} was deleted, and keys with it.`;
      throw new CorruptError('log-trimmed', message, details);
    }
    if (from > end) {
      const message = `Partition ${partition} of the keys ends at ${end}, before ${from}: the topic was replaced.`;
      throw new CorruptError('log-past-end', message, details);
    }
    for (let at: number = from; at < end; ) {
      const { changes, next } = await this.#reader.fetched(partition, at, this.#fetchMaxBytes, (answer) => {
        // A new leader may lag behind the one that reported the end.
        if (answer.highWatermark < end) throw notNow('its leader lags behind');
        const decoded = decodeChanges(answer.records, at);
        if (decoded.next === undefined && answer.records.length > 0) throw notNow('a batch came cut short');
        return decoded;
      });
      // No batch means that nothing is left up to the end.
      at = next ?? end;
      yield { changes, next: new Map([[partition, at as Offset]]) };
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#appender.close().then(() => {
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

const notNow = (reason: string): UnavailableError => new UnavailableError('log-unavailable', reason);

/** Translates the appender's errors to what the port promises; others stay as they are. */
function unavailable(error: unknown): unknown {
  if (!(error instanceof UnavailableError)) return error;
  return new UnavailableError('keys-unavailable', `The topic of keys can't be used: ${error.message}`, {
    cause: error,
  });
}
