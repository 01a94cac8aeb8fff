/**
 * Owns one follower's connection: what is written to it, in the form of server-sent events, and when it is cut off. A follower that reads
 * too slowly loses the connection, never an event: it reconnects and says what it has.
 */

import type { ServerResponse } from 'node:http';
import { type Problem, reportedOf } from '../problem.ts';
import { SAFE_HEADERS } from '../safe-headers.ts';

/** Bytes that wait for one follower; one that reads more slowly is cut off, and may reconnect for the rest. */
const FOLLOWER_BUFFER_MAX_BYTES = 512 * 1_024;
/** Time after which a follower that was cut off reconnects, in milliseconds; the stream says so. */
const FOLLOWER_RETRY_MS = 500;

/** Unread bytes at which what a follower may take later is not written yet. */
const FOLLOWER_FULL_BYTES = 128 * 1_024;

/** One event as bytes. A follower that reconnects names the last `id` it has. */
export const eventBytes = (name: string, data: string, id?: number | string): Buffer =>
  Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${data}\n\n`);

const HEADERS = {
  ...SAFE_HEADERS,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  connection: 'keep-alive',
} as const;

const HEARTBEAT = Buffer.from(':\n\n');

/** How a stream differs from events of this API. */
export interface SinkForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly problem: (problem: Problem) => Buffer;
}

export class EventSink {
  readonly #response: ServerResponse;
  readonly #form: SinkForm | undefined;
  readonly #closed = new AbortController();
  #sentBytes = -1;

  constructor(response: ServerResponse, form?: SinkForm) {
    this.#response = response;
    this.#form = form;
    response.once('close', () => this.#closed.abort());
    // The caller left while its stream was looked up: `close` came before anybody listened.
    if (response.destroyed || response.closed) this.#closed.abort();
    // The peer is gone; `close` follows.
    response.on('error', () => {});
    response.writeHead(200, { ...HEADERS, ...form?.headers });
    response.write(`retry: ${FOLLOWER_RETRY_MS}\n\n`);
  }

  /** Aborts when the connection is gone, whichever side ended it. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Never waits. */
  write(bytes: Uint8Array): void {
    const response = this.#response;
    if (response.destroyed || response.writableEnded) return;
    // A single event may be larger than that.
    if (response.writableLength > FOLLOWER_BUFFER_MAX_BYTES) response.destroy();
    else response.write(bytes);
  }

  get isFull(): boolean {
    return this.unreadBytes >= FOLLOWER_FULL_BYTES;
  }

  /** What waits to be read. */
  get unreadBytes(): number {
    return this.#response.writableLength;
  }

  /** Events that may be missed. */
  writeUnlessBusy(bytes: Uint8Array): void {
    if (!this.#response.writableNeedDrain) this.write(bytes);
  }

  /** Resolves once the written bytes are on their way, or the connection is gone. */
  drained(): Promise<void> {
    const response = this.#response;
    if (!response.writableNeedDrain || this.closed.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        response.off('drain', done);
        this.closed.removeEventListener('abort', done);
        resolve();
      };
      response.once('drain', done);
      this.closed.addEventListener('abort', done, { once: true });
    });
  }

  /** Sends a heartbeat, and cuts off a follower that has read nothing since the last one while something waited. */
  heartbeat(): void {
    const { socket } = this.#response;
    const sentBytes = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
    if (this.#response.writableNeedDrain && sentBytes === this.#sentBytes) this.#response.destroy();
    this.#sentBytes = sentBytes;
    this.write(HEARTBEAT);
  }

  /** Reports what could not be read, as far as a caller may know it. */
  fail(error: unknown, onError: ((where: string, error: unknown) => void) | undefined): void {
    // It left while it waited.
    if (error === this.closed.reason) return;
    const reported = reportedOf(error);
    if (reported.isFault) onError?.('follow', error);
    const { problem } = reported;
    this.write(this.#form?.problem(problem) ?? eventBytes('problem', JSON.stringify(problem)));
    this.end();
  }

  end(): void {
    this.#response.end();
  }

  /** Ends it where it is to be continued. In another form a proper end would say that it is whole. */
  interrupt(): void {
    if (this.#form === undefined) this.end();
    else this.#response.destroy();
  }
}

/** Resolves once it is closed. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
