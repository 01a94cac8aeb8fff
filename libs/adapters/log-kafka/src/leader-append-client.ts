/**
 * Owns appends over `@platformatic/kafka`'s connections (TLS, SASL, framing), with our own record batches: a batch is encoded once into one
 * buffer, whatever its number of records. Each leader and lane has a connection.
 */

import { messageOf } from '@tidemark/core';
import { type AppendAnswer, answerOf, noAnswer } from './answers.ts';
import type { AppendClient, LaneKind, PartitionBatch } from './append-client.ts';
import { Channel, type ChannelOptions } from './channel.ts';
import { groupBytes, writeGroup } from './record-batch.ts';
import { PRODUCE } from './wire.ts';
import type { BrokerNode } from './wire-partitions.ts';
import { produceAnswers, produceRequest } from './wire-records.ts';

export interface LeaderAppendClientOptions {
  readonly topic: string;
  readonly channel: ChannelOptions;
  /** Longest time that the broker may wait for its replicas. */
  readonly appendTimeoutMs: number;
  /** Encodes a batch of other bytes than the log's. */
  readonly encode?: (batch: PartitionBatch) => void;
}

/** Returns the batches one after another, each encoded when it is first sent; all new ones share one buffer. */
function encoded(batches: readonly PartitionBatch[]): readonly Buffer[] {
  const fresh = batches.filter((batch) => batch.encoded === undefined);
  const sizes = fresh.map(groupBytes);
  const bytes = Buffer.allocUnsafeSlow(sizes.reduce((sum, size) => sum + size, 0));
  let start = 0;
  fresh.forEach((batch, index) => {
    const end = start + sizes[index]!;
    writeGroup(bytes, start, end - start, batch);
    batch.encoded = { bytes, start, end };
    start = end;
  });
  if (fresh.length === batches.length) return [bytes];
  return batches.map(({ encoded: own }) => own!.bytes.subarray(own!.start, own!.end));
}

export class LeaderAppendClient implements AppendClient {
  readonly #options: LeaderAppendClientOptions;
  readonly #channels = new Map<string, Channel>();

  constructor(options: LeaderAppendClientOptions) {
    this.#options = options;
  }

  async append(
    leader: BrokerNode,
    lane: LaneKind,
    batches: readonly PartitionBatch[],
  ): Promise<readonly AppendAnswer[]> {
    const { topic, appendTimeoutMs, encode } = this.#options;
    if (encode !== undefined) for (const batch of batches) if (batch.encoded === undefined) encode(batch);
    const request = produceRequest(topic, batches.length, encoded(batches), appendTimeoutMs);
    try {
      const answers = produceAnswers(await this.#channel(leader, lane).request(PRODUCE, request));
      return batches.map(({ partition }) => {
        const answer = answers.get(partition);
        if (answer === undefined) return noAnswer('the answer does not name the partition');
        return answerOf(topic, partition, answer.errorCode, answer.baseOffset);
      });
    } catch (error) {
      const unknown = noAnswer(messageOf(error));
      return batches.map(() => unknown);
    }
  }

  async close(): Promise<void> {
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }

  /** A broker that came back at another address gets a new connection. */
  #channel(leader: BrokerNode, lane: LaneKind): Channel {
    const key = `${lane} ${leader.nodeId} ${leader.host}:${leader.port}`;
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = new Channel(leader, this.#options.channel);
      this.#channels.set(key, channel);
    }
    return channel;
  }
}
