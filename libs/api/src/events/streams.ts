/** Owns all streams of server-sent events of one server: how many there are and whose, their heartbeats, how long they last, and their end. */

import type { ServerResponse } from 'node:http';
import { LimitError } from '@tidemark/core';
import type { Principal } from '@tidemark/ports';
import type { Place } from '../desk.ts';
import { HEARTBEAT_PERIOD_MS, STREAM_LIFE_MAX_MS, STREAMS_MAX, STREAMS_OF_PRINCIPAL_MAX } from '../limits.ts';
import { Changes } from './changes.ts';
import { Feeds } from './feeds.ts';
import { EventSink } from './sink.ts';
import { Watches } from './watches.ts';

export class Streams {
  readonly feeds: Feeds;
  readonly changes: Changes;
  readonly watches: Watches;
  readonly #sinks = new Map<EventSink, number>();
  readonly #counts = new Map<string, number>();
  readonly #heart: NodeJS.Timeout;

  constructor({ ports, client }: Place, onError: (where: string, error: unknown) => void) {
    this.feeds = new Feeds(ports, onError);
    this.changes = new Changes(ports, onError);
    this.watches = new Watches(client);
    this.#heart = setInterval(() => this.#beat(performance.now()), HEARTBEAT_PERIOD_MS);
    this.#heart.unref();
  }

  /** Takes a place for one more; what is returned gives it back. Throws `LimitError` (`streams-too-many`). */
  admit({ kind, tenant, subject }: Principal): () => void {
    const name = `${kind} ${tenant ?? ''} ${subject}`;
    const count = this.#counts.get(name) ?? 0;
    if (count >= STREAMS_OF_PRINCIPAL_MAX || this.#sinks.size >= STREAMS_MAX) {
      throw new LimitError(
        'streams-too-many',
        `At most ${STREAMS_OF_PRINCIPAL_MAX} streams of one caller are open at once, and ${STREAMS_MAX} in all. Close some.`,
      );
    }
    this.#counts.set(name, count + 1);
    return () => {
      const left = this.#counts.get(name)! - 1;
      if (left === 0) this.#counts.delete(name);
      else this.#counts.set(name, left);
    };
  }

  /** Begins the answer. */
  open(response: ServerResponse): EventSink {
    const sink = new EventSink(response);
    this.#sinks.set(sink, performance.now());
    sink.closed.addEventListener('abort', () => this.#sinks.delete(sink), { once: true });
    return sink;
  }

  #beat(nowMs: number): void {
    for (const [sink, sinceMs] of this.#sinks) {
      if (nowMs - sinceMs > STREAM_LIFE_MAX_MS) sink.end();
      else sink.heartbeat();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#heart);
    for (const sink of this.#sinks.keys()) sink.end();
    await this.changes.close();
    await this.feeds.close();
  }
}
