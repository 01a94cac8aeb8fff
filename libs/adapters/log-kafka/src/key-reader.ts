/**
 * Owns reading the topic of wrapped keys: one partition after another, from an offset to its end. Unlike the log's, its offsets have gaps
 * where compaction has cleared records. While brokers are away or leaders move it retries for a bounded time.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { CorruptError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { KeyOffsets, KeyPage, PartitionBounds } from '@tidemark/ports';
import { authorizationError, isAuthorizationCode } from './answers.ts';
import { Channel, type ChannelOptions, rootMessage } from './channel.ts';
import { type DecodedChanges, decodeChanges } from './key-records.ts';
import type { KafkaLogLimits } from './limits.ts';
import type { Reader } from './reader.ts';
import type { Topology } from './topology.ts';
import { FETCH } from './wire.ts';
import type { BrokerNode } from './wire-partitions.ts';
import { fetchAnswers, fetchRequest } from './wire-records.ts';

export interface KeyReaderOptions {
  readonly topic: string;
  readonly limits: KafkaLogLimits;
  readonly channel: ChannelOptions;
  readonly topology: Topology;
  /** Knows where partitions begin and end. */
  readonly reader: Reader;
}

export class KeyReader {
  readonly #options: KeyReaderOptions;
  readonly #channels = new Map<BrokerNode, Channel>();
  #isClosed = false;

  constructor(options: KeyReaderOptions) {
    this.#options = options;
  }

  /** Throws `UnavailableError` (`log-unavailable`) and `CorruptError` (`log-damaged`, `log-trimmed`, `log-past-end`). */
  async *read(from: KeyOffsets): AsyncIterable<KeyPage> {
    const { reader, topology } = this.#options;
    const all = Array.from({ length: topology.partitionCount }, (_, index) => index);
    for (const [partition, bounds] of await reader.bounds(all)) {
      yield* this.#partition(partition, from.get(partition) ?? bounds.start, bounds);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }

  async *#partition(partition: Partition, from: Offset, { start, end }: PartitionBounds): AsyncIterable<KeyPage> {
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
      const { changes, next } = await this.#fetched(partition, at, end);
      // No batch means that nothing is left up to the end.
      at = next ?? end;
      yield { changes, next: new Map([[partition, at as Offset]]) };
    }
  }

  async #fetched(partition: number, from: number, end: number): Promise<DecodedChanges> {
    const { limits, topology } = this.#options;
    const untilMs = performance.now() + limits.readRetryMs;
    for (let pauseMs = limits.resendMinMs; ; pauseMs = Math.min(limits.resendMaxMs, pauseMs * 2)) {
      let reason: unknown;
      try {
        return await this.#fetch(partition, from, end);
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        reason = error;
      }
      if (this.#isClosed || performance.now() + pauseMs > untilMs) {
        const message = `Kafka gave no answer for partition ${partition} of the keys: ${rootMessage(reason)}`;
        throw new UnavailableError('log-unavailable', message, { partition, cause: reason });
      }
      await pause(pauseMs);
      await topology.refresh().catch(() => {}); // the next pause retries what is not known yet
    }
  }

  async #fetch(partition: number, from: number, end: number): Promise<DecodedChanges> {
    const { topic, limits, topology } = this.#options;
    const leader = topology.leaderOf(partition);
    if (leader === undefined) throw notNow('it has no leader');
    const target = { partition, from, maxBytes: limits.batchMaxBytes };
    const answer = await this.#channel(leader).request(FETCH, fetchRequest(topic, [target], limits.readMaxBytes));
    const { errorCode: wholeCode, partitions } = fetchAnswers(answer);
    const found = partitions[0];
    const errorCode = wholeCode || (found?.errorCode ?? -1);
    if (isAuthorizationCode(errorCode)) throw authorizationError(topic, errorCode);
    if (found === undefined || errorCode !== 0) throw notNow(`Kafka error code ${errorCode}`);
    // A new leader may lag behind the one that reported the end.
    if (found.highWatermark < end) throw notNow('its leader lags behind');
    const decoded = decodeChanges(found.records, from);
    if (decoded.next === undefined && found.records.length > 0) throw notNow('a batch came cut short');
    return decoded;
  }

  #channel(leader: BrokerNode): Channel {
    let channel = this.#channels.get(leader);
    if (channel === undefined) {
      channel = new Channel(leader, this.#options.channel);
      this.#channels.set(leader, channel);
    }
    return channel;
  }
}

const notNow = (reason: string): UnavailableError => new UnavailableError('log-unavailable', reason);
