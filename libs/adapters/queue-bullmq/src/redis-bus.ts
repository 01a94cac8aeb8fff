/**
 * Owns messages over Redis that may be lost: PUBLISH on one connection, SUBSCRIBE on another (a subscriber can't publish), each opened when
 * first used. Nothing here waits for Redis or fails with it: messages wait in the client while it connects, so that the first of a process
 * isn't lost, and are dropped between attempts; subscriptions are restored with the connection.
 */

import type { Redis } from 'ioredis';
import { addressOf, type Connection, type ConnectionOptions, openConnection } from './connection.ts';

/** Longest wait of `subscribe` for the server; the subscription continues in the background. */
const SUBSCRIBE_WAIT_MS = 2_000;
/** Period at which a subscriber pings the server, since it would not notice a dead connection otherwise. */
const BUS_HEARTBEAT_MS = 2_000;
/** Silence after which it counts the connection as dead. */
const BUS_SILENCE_MS = 3_000;

export interface RedisBusOptions {
  readonly url: string;
  readonly tls?: ConnectionOptions['tls'];
  /** Published messages without an answer; beyond it messages are dropped. */
  readonly messagesInFlightMax: number;
  /** Called whenever subscriptions hold again after a connection was made: what was sent meanwhile is lost. */
  readonly onReady?: () => void;
}

type Listener = (message: Buffer) => void;

/** States of a client that sends, or will once its attempt to connect succeeds. */
const SENDING: ReadonlySet<string> = new Set(['connecting', 'connect', 'ready']);

export class RedisBus {
  readonly #options: RedisBusOptions;
  readonly #listeners = new Map<string, Set<Listener>>();
  #publisher: Connection | undefined;
  #subscriber: Connection | undefined;
  #asker: Connection | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #inFlight = 0;
  #isClosed = false;

  /** Throws `ConfigError` for an address that isn't one. */
  constructor(options: RedisBusOptions) {
    addressOf(options.url);
    this.#options = options;
  }

  #open(patience: ConnectionOptions['patience']): Connection {
    const { url, tls } = this.#options;
    return openConnection({ url, tls, patience, silenceMs: BUS_SILENCE_MS });
  }

  publish(channel: string, message: string | Buffer): void {
    this.run((redis) => redis.publish(channel, message));
  }

  /** Sends what `work` asks of the server, without waiting for it; drops it where nothing can be sent. */
  run(work: (redis: Redis) => Promise<unknown>): void {
    if (this.#isClosed) return;
    this.#publisher ??= this.#open('briefly');
    this.#heartbeat ??= setInterval(() => this.#beat(), BUS_HEARTBEAT_MS).unref();
    const { redis } = this.#publisher;
    if (!SENDING.has(redis.status) || this.#inFlight >= this.#options.messagesInFlightMax) return;
    this.#inFlight += 1;
    const answered = (): void => {
      this.#inFlight -= 1;
    };
    work(redis).then(answered, answered);
  }

  /** Fails when nothing can be sent now. */
  ask<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    this.#asker ??= this.#open('briefly');
    return work(this.#asker.redis);
  }

  /** Resolves once the server has subscribed, or after `SUBSCRIBE_WAIT_MS` in any case, to a function that ends the subscription. */
  async subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
    const own: Listener = (message) => listener(message);
    const listeners = this.#listeners.get(channel) ?? new Set<Listener>();
    this.#listeners.set(channel, listeners.add(own));
    const { redis } = this.#subscriberConnection();
    // Waits in the client until the server is back.
    const subscribed = redis.subscribe(channel).catch(() => {});
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, SUBSCRIBE_WAIT_MS);
    });
    await Promise.race([subscribed, patience]);
    clearTimeout(timer);
    return async () => {
      if (!listeners.delete(own) || listeners.size > 0) return;
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
    this.#asker?.close();
  }

  /** A replica takes messages without an error, and nobody else hears them: both connections look up the name again. */
  #beat(): void {
    const [publisher, subscriber] = [this.#publisher?.redis, this.#subscriber?.redis];
    if (subscriber?.status === 'ready') subscriber.ping().catch(() => {});
    if (publisher?.status !== 'ready') return;
    const learn = (info: string): void => {
      if (this.#isClosed || !info.includes('role:slave')) return;
      publisher.disconnect(true);
      subscriber?.disconnect(true);
    };
    publisher.info('replication').then(learn, () => {});
  }

  #subscriberConnection(): Connection {
    if (this.#subscriber) return this.#subscriber;
    const connection = this.#open('forever');
    connection.redis.on('messageBuffer', (channel: Buffer, message: Buffer) =>
      reportAll(this.#listeners.get(channel.toString()) ?? [], message),
    );
    this.#heartbeat ??= setInterval(() => this.#beat(), BUS_HEARTBEAT_MS).unref();
    // ioredis has sent the subscriptions again by then; the server answers in order.
    connection.redis.on('ready', () => void connection.redis.ping().then(this.#options.onReady, () => {}));
    this.#subscriber = connection;
    return connection;
  }
}

/** Calls each listener, also when another one throws. */
function reportAll(listeners: Iterable<Listener>, message: Buffer): void {
  for (const listener of [...listeners]) {
    try {
      listener(message);
    } catch (error) {
      // The error is the listener's bug, and must not break the connection that is reading.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
