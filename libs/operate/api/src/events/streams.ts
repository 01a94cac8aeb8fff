/** Owns all streams of server-sent events of one server: their number and their callers, their heartbeats, how long they last, and their end. */

import type { ServerResponse } from 'node:http';
import type { ContentRoom } from '@tidemark/access/reads';
import { LimitError } from '@tidemark/core';
import { type Principal, Room } from '@tidemark/ports';
import type { ServingProcess } from '../backend.ts';
import { Changes } from './changes.ts';
import { Feeds } from './feeds.ts';
import { Pieces } from './pieces.ts';
import { EventSink, type SinkForm } from './sink.ts';

/** Streams of server-sent events: of one principal, and in all; one tenant has as many as are still free (`Room`). */
export const STREAMS_OF_PRINCIPAL_MAX = 2_000;
export const STREAMS_MAX = 10_000;
/** Period of the comment to every follower, in milliseconds, which shows whether it is still there; one that reads nothing for two periods is cut off. */
const HEARTBEAT_PERIOD_MS = 15_000;
/** Longest stream, in milliseconds: its follower reconnects with credentials that still hold. */
const STREAM_LIFE_MAX_MS = 3_600_000;

export class Streams {
  readonly feeds: Feeds;
  readonly changes: Changes;
  readonly pieces: Pieces;
  readonly #sinks = new Map<EventSink, number>();
  /** By caller. */
  readonly #counts = new Map<string, number>();
  readonly #room = new Room(STREAMS_MAX);
  readonly #heart: NodeJS.Timeout;

  constructor({ ports, client }: ServingProcess, room: ContentRoom, onError: (where: string, error: unknown) => void) {
    this.feeds = new Feeds(ports, room, onError);
    this.changes = new Changes(ports, onError);
    this.pieces = new Pieces(client);
    this.#heart = setInterval(() => this.#beat(performance.now()), HEARTBEAT_PERIOD_MS);
    this.#heart.unref();
  }

  /** Takes a place for one more; the returned function frees it. Throws `LimitError` (`streams-too-many`). */
  admit({ kind, tenant, subject }: Principal): () => void {
    const name = `${kind} ${tenant ?? ''} ${subject}`;
    const count = this.#counts.get(name) ?? 0;
    if (count >= STREAMS_OF_PRINCIPAL_MAX) throw tooMany(`At most ${count} streams of one caller may be open at once`);
    if (!this.#room.hasFor(tenant)) {
      throw tooMany(
        `At most ${STREAMS_MAX} streams may be open at once, those of one tenant at most as many as are still free`,
      );
    }
    this.#counts.set(name, count + 1);
    const giveBack = this.#room.take(tenant);
    return () => {
      giveBack();
      const left = this.#counts.get(name)! - 1;
      if (left === 0) this.#counts.delete(name);
      else this.#counts.set(name, left);
    };
  }

  /** Begins the answer. */
  open(response: ServerResponse, form?: SinkForm): EventSink {
    const sink = new EventSink(response, form);
    if (sink.closed.aborted) return sink;
    this.#sinks.set(sink, performance.now());
    sink.closed.addEventListener('abort', () => this.#sinks.delete(sink), { once: true });
    return sink;
  }

  #beat(nowMs: number): void {
    for (const [sink, sinceMs] of this.#sinks) {
      if (nowMs - sinceMs > STREAM_LIFE_MAX_MS) sink.interrupt();
      else sink.heartbeat();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#heart);
    for (const sink of this.#sinks.keys()) sink.interrupt();
    await this.changes.close();
    await this.feeds.close();
  }
}

const tooMany = (bound: string): LimitError => new LimitError('streams-too-many', `${bound}. Close some.`);
