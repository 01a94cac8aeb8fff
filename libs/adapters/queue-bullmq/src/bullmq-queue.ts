/** Owns the JobQueue on BullMQ: one producer, and any number of consumers, each with its own connections. */

import { InvalidError } from '@tidemark/core';
import type { JobQueue } from '@tidemark/ports';
import { type ConnectionOptions, openConnection } from './connection.ts';
import { QUEUE_LIMITS, type QueueLimits } from './limits.ts';
import { Producer } from './producer.ts';
import { WakeupConsumer } from './wakeup-consumer.ts';

export interface BullmqQueueOptions {
  /** `redis://` or `rediss://`, with credentials if need be. */
  readonly url: string;
  /** Everything is then sent over TLS. */
  readonly tls?: ConnectionOptions['tls'];
  /** Prefix of every key; two systems on one Redis have different ones. */
  readonly prefix: string;
  readonly limits?: Partial<QueueLimits>;
}

/** Returns at once and connects in the background; throws `ConfigError` for an address that isn't one. */
export function openBullmqQueue(options: BullmqQueueOptions): JobQueue {
  const limits = { ...QUEUE_LIMITS, ...options.limits };
  const keyPrefix = `${options.prefix}:jobs`;
  if (limits.silenceMs <= limits.idleBlockMs) {
    throw new InvalidError('limits-invalid', 'silenceMs must be greater than idleBlockMs');
  }
  const { silenceMs } = limits;
  const { url, tls } = options;
  const connection = openConnection({ url, tls, patience: 'briefly', silenceMs });
  const producer = new Producer(connection, keyPrefix, limits);
  const consumers = new Set<WakeupConsumer>();

  return {
    enqueue: (jobs) => producer.enqueue(jobs),
    async consume(consumeOptions, handle) {
      const { concurrency } = consumeOptions;
      if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
        throw new InvalidError('concurrency-invalid', `concurrency must be a positive integer, not ${concurrency}`);
      }
      const own = openConnection({ url, tls, patience: 'forever', silenceMs });
      const consumer = new WakeupConsumer({ connection: own, keyPrefix, limits }, consumeOptions, handle);
      consumers.add(consumer);
      try {
        await consumer.start(consumeOptions.routes);
      } catch (error) {
        await consumer.close();
        throw error;
      }
      return consumer;
    },
    depth: (definitions) => producer.depth(definitions),
    async close() {
      await Promise.all([...consumers].map((consumer) => consumer.close()));
      await producer.close();
      connection.close();
    },
  };
}
