/**
 * Owns the HintBus on Redis: PUBLISH on one connection, SUBSCRIBE on another (a subscriber can't publish). Hints of one
 * turn of the event loop go out as one message a topic. Nothing here waits for Redis or fails with it: hints that can't
 * be sent at once are dropped, and subscriptions come back with the connection.
 */

import type { Partition } from '@tidemark/core';
import type { HintBus, HintTopic } from '@tidemark/ports';
import { addressOf, type Connection, openConnection } from './connection.ts';
import {
  HINT_MESSAGES_IN_FLIGHT_MAX,
  HINTED_PARTITIONS_PER_MESSAGE_MAX,
  HINTS_HEARTBEAT_MS,
  HINTS_SILENCE_MS,
  SUBSCRIBE_WAIT_MS,
} from './limits.ts';
import { decodePartitions, encodePartitions } from './partition-set.ts';

export interface RedisHintsOptions {
  readonly url: string;
  /** Begins every channel; those who hear each other have the same. */
  readonly prefix: string;
}

type Listener = (partitions: readonly Partition[]) => void;

const TOPICS: readonly HintTopic[] = ['appended', 'applied'];

/** Returns at once and connects when first used; throws `ConfigError` for an address that isn't one. */
export function openRedisHints(options: RedisHintsOptions): HintBus {
  addressOf(options.url);
  return new RedisHints(options);
}

class RedisHints implements HintBus {
  readonly #options: RedisHintsOptions;
  readonly #pending: Record<HintTopic, Set<Partition>> = { appended: new Set(), applied: new Set() };
  readonly #listeners: Record<HintTopic, Set<Listener>> = { appended: new Set(), applied: new Set() };
  #publisher: Connection | undefined;
  #subscriber: Connection | undefined;
  #scheduled: NodeJS.Immediate | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #inFlight = 0;
  #closed = false;

  constructor(options: RedisHintsOptions) {
    this.#options = options;
  }

  publish(topic: HintTopic, partition: Partition): void {
    if (this.#closed) return;
    this.#pending[topic].add(partition);
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined;
      for (const each of TOPICS) this.#send(each);
    });
  }

  async subscribe(topic: HintTopic, listener: Listener): Promise<() => Promise<void>> {
    const own: Listener = (partitions) => listener(partitions);
    const listeners = this.#listeners[topic];
    listeners.add(own);
    const { redis } = this.#subscriberConnection();
    // Waits in the client for the server to come; resolves here after a while all the same.
    const subscribed = redis.subscribe(this.#channel(topic)).catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, SUBSCRIBE_WAIT_MS);
    });
    await Promise.race([subscribed, patience]);
    clearTimeout(timer);
    return async () => {
      listeners.delete(own);
      if (listeners.size === 0) redis.unsubscribe(this.#channel(topic)).catch(() => {});
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearImmediate(this.#scheduled);
    clearInterval(this.#heartbeat);
    for (const topic of TOPICS) this.#listeners[topic].clear();
    this.#publisher?.close();
    this.#subscriber?.close();
  }

  #channel(topic: HintTopic): string {
    return `${this.#options.prefix}:hints:${topic}`;
  }

  #send(topic: HintTopic): void {
    if (this.#pending[topic].size === 0) return;
    const partitions = [...this.#pending[topic]].sort((a, b) => a - b);
    this.#pending[topic].clear();
    this.#publisher ??= openConnection({
      url: this.#options.url,
      patience: 'briefly',
      silenceMs: HINTS_SILENCE_MS,
    });
    const { redis } = this.#publisher;
    if (redis.status !== 'ready') return;
    for (let start = 0; start < partitions.length; start += HINTED_PARTITIONS_PER_MESSAGE_MAX) {
      if (this.#inFlight >= HINT_MESSAGES_IN_FLIGHT_MAX) return;
      this.#inFlight += 1;
      const message = encodePartitions(partitions.slice(start, start + HINTED_PARTITIONS_PER_MESSAGE_MAX));
      const answered = (): void => {
        this.#inFlight -= 1;
      };
      redis.publish(this.#channel(topic), message).then(answered, answered);
    }
  }

  #subscriberConnection(): Connection {
    if (this.#subscriber) return this.#subscriber;
    const connection = openConnection({
      url: this.#options.url,
      patience: 'forever',
      silenceMs: HINTS_SILENCE_MS,
    });
    connection.redis.on('messageBuffer', (channel: Buffer, message: Buffer) => {
      const topic = TOPICS.find((each) => this.#channel(each) === channel.toString());
      if (topic) this.#hear(topic, decodePartitions(message));
    });
    this.#heartbeat = setInterval(() => {
      if (connection.redis.status === 'ready') connection.redis.ping().catch(() => {});
    }, HINTS_HEARTBEAT_MS);
    this.#subscriber = connection;
    return connection;
  }

  #hear(topic: HintTopic, partitions: readonly Partition[]): void {
    if (partitions.length === 0) return;
    for (const listener of [...this.#listeners[topic]]) {
      try {
        listener(partitions);
      } catch (error) {
        // A bug of the listener, not of the connection that is reading just now.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
