/**
 * Owns the WatchBus on Redis: a channel a workflow, PUBLISH on one connection and SUBSCRIBE on another, each opened when first used.
 * Nothing here waits for Redis or fails with it: messages that can't be sent at once are dropped.
 */

import type { WorkflowId } from '@tidemark/core';
import type { WatchBus } from '@tidemark/ports';
import { addressOf, type Connection, openConnection } from './connection.ts';
import { HINTS_HEARTBEAT_MS, HINTS_SILENCE_MS, SUBSCRIBE_WAIT_MS, WATCH_MESSAGES_IN_FLIGHT_MAX } from './limits.ts';

export interface RedisWatchOptions {
  readonly url: string;
  /** Begins every channel. */
  readonly prefix: string;
}

type Listener = (message: string) => void;

/** Returns at once; throws `ConfigError` for an address that isn't one. */
export function openRedisWatch(options: RedisWatchOptions): WatchBus {
  addressOf(options.url);
  return new RedisWatch(options);
}

class RedisWatch implements WatchBus {
  readonly #options: RedisWatchOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  #publisher: Connection | undefined;
  #subscriber: Connection | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #inFlight = 0;
  #isClosed = false;

  constructor(options: RedisWatchOptions) {
    this.#options = options;
  }

  publish(workflow: WorkflowId, message: string): void {
    if (this.#isClosed) return;
    const { url } = this.#options;
    this.#publisher ??= openConnection({ url, patience: 'briefly', silenceMs: HINTS_SILENCE_MS });
    const { redis } = this.#publisher;
    if (redis.status !== 'ready' || this.#inFlight >= WATCH_MESSAGES_IN_FLIGHT_MAX) return;
    this.#inFlight += 1;
    const answered = (): void => {
      this.#inFlight -= 1;
    };
    redis.publish(this.#channel(workflow), message).then(answered, answered);
  }

  async subscribe(workflow: WorkflowId, listener: Listener): Promise<() => Promise<void>> {
    const channel = this.#channel(workflow);
    const own: Listener = (message) => listener(message);
    const listeners = this.#listeners.get(channel) ?? new Set<Listener>();
    this.#listeners.set(channel, listeners.add(own));
    const { redis } = this.#subscriberConnection();
    // Waits in the client for the server to come; resolves here after a while all the same.
    const subscribed = redis.subscribe(channel).catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, SUBSCRIBE_WAIT_MS);
    });
    await Promise.race([subscribed, patience]);
    clearTimeout(timer);
    return async () => {
      listeners.delete(own);
      if (listeners.size > 0) return;
      this.#listeners.delete(channel);
      redis.unsubscribe(channel).catch(() => {});
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#heartbeat);
    this.#listeners.clear();
    this.#publisher?.close();
    this.#subscriber?.close();
  }

  #channel(workflow: WorkflowId): string {
    return `${this.#options.prefix}:watch:${workflow}`;
  }

  #subscriberConnection(): Connection {
    if (this.#subscriber) return this.#subscriber;
    const connection = openConnection({ url: this.#options.url, patience: 'forever', silenceMs: HINTS_SILENCE_MS });
    connection.redis.on('message', (channel: string, message: string) => {
      for (const listener of [...(this.#listeners.get(channel) ?? [])]) listener(message);
    });
    this.#heartbeat = setInterval(() => {
      if (connection.redis.status === 'ready') connection.redis.ping().catch(() => {});
    }, HINTS_HEARTBEAT_MS);
    this.#subscriber = connection;
    return connection;
  }
}
