/**
 * Owns appends over `@platformatic/kafka`'s connections (TLS, SASL, framing), with our own record batches: a batch is
 * encoded once into one buffer, whatever its number of records. A connection a leader and lane.
 */

import { type AppendAnswer, answerOf, noAnswer } from './answers.ts';
import type { AppendClient, LaneKind, PartitionBatch } from './append-client.ts';
import { Channel, type ChannelOptions, rootMessage } from './channel.ts';
import { encodeBatch } from './record-batch.ts';
import { PRODUCE } from './wire.ts';
import type { BrokerNode } from './wire-partitions.ts';
import { produceAnswers, produceRequest } from './wire-records.ts';

export interface PlatformaticAppendOptions {
  readonly topic: string;
  readonly channel: ChannelOptions;
  /** How long the broker may wait for its replicas. */
  readonly appendTimeoutMs: number;
}

function encoded(batch: PartitionBatch): Buffer {
  batch.encoded ??= encodeBatch(batch.partition, batch.records, batch.timestampMs);
  return batch.encoded;
}

export class PlatformaticAppendClient implements AppendClient {
  readonly #options: PlatformaticAppendOptions;
  readonly #channels = new Map<string, Channel>();

  constructor(options: PlatformaticAppendOptions) {
    this.#options = options;
  }

  async append(
    leader: BrokerNode,
    lane: LaneKind,
    batches: readonly PartitionBatch[],
  ): Promise<readonly AppendAnswer[]> {
    const { topic, appendTimeoutMs } = this.#options;
    const request = produceRequest(topic, batches.map(encoded), appendTimeoutMs);
    try {
      const answers = produceAnswers(await this.#channel(leader, lane).request(PRODUCE, request));
      return batches.map(({ partition }) => {
        const answer = answers.get(partition);
        if (answer === undefined) return noAnswer('the broker left the partition out of its answer');
        return answerOf(topic, partition, answer.errorCode, answer.baseOffset);
      });
    } catch (error) {
      const answer = noAnswer(rootMessage(error));
      return batches.map(() => answer);
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
