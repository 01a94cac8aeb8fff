/**
 * Owns the HintBus on Redis: the first hint is sent at the end of its turn of the event loop, those of the next milliseconds together, one
 * message per topic. Must not wait for Redis or fail with it: what can't be sent is dropped.
 */

import type { Partition } from '@tidemark/core';
import type { HintBus, HintTopic } from '@tidemark/ports';
import { LaterHints } from '@tidemark/ports/later-hints';
import type { ConnectionOptions } from './connection.ts';
import { decodePartitions, encodePartitions } from './partition-set.ts';
import { RedisBus } from './redis-bus.ts';

/** Partition numbers in one published hint; more go out as several messages. */
const HINTED_PARTITIONS_PER_MESSAGE_MAX = 4_096;
/** Milliseconds after a message in which hints are collected for the next: a message costs as much as the work it hints at. */
export const HINT_PERIOD_MS = 4;
/** Published messages without an answer; beyond it hints are dropped (the sweep makes up for them). */
const HINT_MESSAGES_IN_FLIGHT_MAX = 1_024;

export interface RedisHintsOptions {
  readonly url: string;
  /** Everything is then sent over TLS. */
  readonly tls?: ConnectionOptions['tls'];
  /** Prefix of every channel; processes that share it hear each other. */
  readonly prefix: string;
}

type Listener = (partitions: readonly Partition[]) => void;

const TOPICS: readonly HintTopic[] = ['appended', 'applied'];

/** Returns at once and connects when first used; throws `ConfigError` for an address that isn't one. */
export function openRedisHints(options: RedisHintsOptions): HintBus {
  return new RedisHints(options);
}

class RedisHints implements HintBus {
  readonly #bus: RedisBus;
  readonly #prefix: string;
  readonly #pending: Record<HintTopic, Set<Partition>> = { appended: new Set(), applied: new Set() };
  readonly #later: LaterHints;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;

  constructor({ url, tls, prefix }: RedisHintsOptions) {
    this.#bus = new RedisBus({ url, tls, messagesInFlightMax: HINT_MESSAGES_IN_FLIGHT_MAX });
    this.#prefix = prefix;
    this.#later = new LaterHints((topic, partition) => this.publish(topic, partition));
  }

  publish(topic: HintTopic, partition: Partition, when?: 'later'): void {
    if (when === 'later') {
      this.#later.add(topic, partition);
      return;
    }
    this.#later.drop(topic, partition);
    this.#pending[topic].add(partition);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const waitMs = this.#sentMs + HINT_PERIOD_MS - performance.now();
    if (waitMs <= 0) setImmediate(() => this.#sendAll());
    else this.#timer = setTimeout(() => this.#sendAll(), waitMs);
  }

  subscribe(topic: HintTopic, listener: Listener): Promise<() => Promise<void>> {
    return this.#bus.subscribe(this.#channel(topic), (message) => {
      const partitions = decodePartitions(message);
      if (partitions.length > 0) listener(partitions);
    });
  }

  async close(): Promise<void> {
    this.#later.close();
    clearTimeout(this.#timer);
    // The last hints are of released leases: without them only the sweep would find those.
    this.#sendAll();
    await this.#bus.close();
  }

  #channel(topic: HintTopic): string {
    return `${this.#prefix}:hints:${topic}`;
  }

  #sendAll(): void {
    this.#isScheduled = false;
    this.#sentMs = performance.now();
    for (const topic of TOPICS) this.#send(topic);
  }

  #send(topic: HintTopic): void {
    const partitions = [...this.#pending[topic]].sort((a, b) => a - b);
    this.#pending[topic].clear();
    for (let start = 0; start < partitions.length; start += HINTED_PARTITIONS_PER_MESSAGE_MAX) {
      const message = encodePartitions(partitions.slice(start, start + HINTED_PARTITIONS_PER_MESSAGE_MAX));
      this.#bus.publish(this.#channel(topic), message);
    }
  }
}
