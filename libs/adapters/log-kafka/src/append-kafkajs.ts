/**
 * Owns appends over kafkajs, the second choice, for whoever prefers the older client: retries off, idempotence off,
 * explicit partitions. kafkajs reports only the first error of a request and none of its successes, so after such an
 * error every batch of it counts as unknown and is asked for alone.
 */

import { messageOf } from '@tidemark/core';
import type { Message, Producer } from 'kafkajs';
import { type AppendAnswer, answerOf, noAnswer } from './answers.ts';
import type { AppendClient, LaneKind, PartitionBatch } from './append-client.ts';
import { Kafka, logLevel } from './kafkajs.ts';
import { type KafkaSecurity, kafkajsSecurity } from './security.ts';
import type { BrokerNode } from './wire-partitions.ts';

export interface KafkajsAppendOptions {
  readonly topic: string;
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly security: KafkaSecurity;
  readonly connectTimeoutMs: number;
  readonly appendTimeoutMs: number;
  readonly appendGraceMs: number;
}

const asBuffer = (value: Uint8Array): Buffer => Buffer.from(value.buffer, value.byteOffset, value.byteLength);

function messages(batch: PartitionBatch): Message[] {
  return batch.records.map(({ value, type, trace }) => ({
    partition: batch.partition,
    key: null,
    value: asBuffer(value),
    headers: trace === undefined ? { type } : { type, traceparent: trace },
    timestamp: String(batch.timestampMs),
  }));
}

const storedAt = (baseOffset: number | undefined): AppendAnswer =>
  baseOffset === undefined ? noAnswer('kafkajs did not send it') : { kind: 'stored', baseOffset };

/** kafkajs marks the answers of brokers with a numeric code; everything else is a connection or a client error. */
function kafkaCode(error: unknown): number | undefined {
  const shape = error as { name?: string; code?: unknown };
  return shape.name === 'KafkaJSProtocolError' && typeof shape.code === 'number' ? shape.code : undefined;
}

export class KafkajsAppendClient implements AppendClient {
  readonly #options: KafkajsAppendOptions;
  readonly #producers: Record<LaneKind, Producer>;

  constructor(options: KafkajsAppendOptions) {
    this.#options = options;
    this.#producers = { append: this.#newProducer(), resend: this.#newProducer() };
  }

  async append(
    _leader: BrokerNode,
    lane: LaneKind,
    batches: readonly PartitionBatch[],
  ): Promise<readonly AppendAnswer[]> {
    const { topic, appendTimeoutMs: timeout } = this.#options;
    const producer = this.#producers[lane];
    try {
      await producer.connect(); // does nothing when connected
      const sent = await producer.send({ topic, acks: -1, timeout, messages: batches.flatMap(messages) });
      const offsets = new Map(sent.map(({ partition, baseOffset }) => [partition, Number(baseOffset)]));
      if (offsets.size < batches.length) await this.#renew(lane);
      return batches.map(({ partition }) => storedAt(offsets.get(partition)));
    } catch (error) {
      return batches.map(({ partition }) => this.#failed(error, partition, lane, batches.length));
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#producers).map((producer) => producer.disconnect().catch(() => {})));
  }

  /** kafkajs leaves out, in silence, partitions that it does not know yet, and offers no way to make it ask again. */
  async #renew(lane: LaneKind): Promise<void> {
    const producer = this.#producers[lane];
    this.#producers[lane] = this.#newProducer();
    await producer.disconnect().catch(() => {}); // its records have been answered
  }

  #failed(error: unknown, partition: number, lane: LaneKind, batchCount: number): AppendAnswer {
    const reason = messageOf(error);
    const code = kafkaCode(error);
    if (code === undefined) return noAnswer(reason);
    if (batchCount === 1) return answerOf(this.#options.topic, partition, code, -1);
    // Most such errors pass for all at once, when a new leader is known; what then still fails is asked for alone.
    return { kind: 'unknown', reason, isStale: true, isShared: lane === 'resend' };
  }

  #newProducer(): Producer {
    const { brokers, clientId, security, connectTimeoutMs, appendTimeoutMs, appendGraceMs } = this.#options;
    const kafka = new Kafka({
      brokers: [...brokers],
      clientId,
      ...kafkajsSecurity(security),
      connectionTimeout: connectTimeoutMs,
      requestTimeout: appendTimeoutMs + appendGraceMs,
      enforceRequestTimeout: true,
      retry: { retries: 0 },
      logLevel: logLevel.NOTHING,
    });
    return kafka.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      retry: { retries: 0 },
      // Asked for every message, also for one that names its partition.
      createPartitioner: () => (args) => args.message.partition!,
    });
  }
}
