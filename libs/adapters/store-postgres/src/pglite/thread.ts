/**
 * Owns the life of PGlite's thread as the rest of the process sees it: its start, its stop, the report of its death, and to which
 * connection its answers belong. At most one thread runs at a time; after a death the next start creates a new one on the same folder.
 *
 * T1 PGlite is one session, so one connection at a time uses it. An answer reaches the connection that sent the request, or nobody.
 * T2 A connection that leaves before it has all its answers ends the thread, and every later message of that thread is dropped.
 */

import { Worker } from 'node:worker_threads';
import { CorruptError, UnavailableError } from '@tidemark/core';
import { PGLITE_START_TIMEOUT_MS } from '../limits.ts';

/** Longest clean stop of PGlite; after it the thread is terminated. */
const PGLITE_STOP_TIMEOUT_MS = 10_000;

export interface ThreadData {
  /** Null: in memory. */
  readonly dataFolder: string | null;
  /** Identifies the tables that a new database starts with (see template.ts); null: it starts without tables. */
  readonly tables: string | null;
}

export type ToThread =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** The database has all its tables, and no rows. */
  | { readonly kind: 'keep' }
  | { readonly kind: 'stop' };
export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'stopped' };

/** A connection to PGlite. */
export interface ThreadListener {
  answer(bytes: Uint8Array): void;
  died(error: Error): void;
}

export class PgliteThread {
  readonly #data: ThreadData;
  readonly #shown: string;
  #worker: Worker | undefined;
  #started: Promise<void> | undefined;
  #listener: ThreadListener | undefined;
  /** Messages of the listener that the thread has not answered. */
  #unanswered = 0;
  /** The end of the previous thread, which must not overlap with the next. */
  #ended: Promise<unknown> = Promise.resolve();

  constructor(data: ThreadData, shown: string) {
    this.#data = data;
    this.#shown = shown;
  }

  /** Starts PGlite unless it runs. Throws `CorruptError` (`store-damaged`), `UnavailableError`. */
  start(): Promise<void> {
    this.#started ??= this.#begin();
    return this.#started;
  }

  /** Makes this listener the current one; the previous one has left. */
  listen(listener: ThreadListener): void {
    if (this.#listener !== undefined) this.leave(this.#listener);
    this.#listener = listener;
  }

  /** Does nothing when the thread's listener is another. */
  leave(listener: ThreadListener): void {
    if (listener !== this.#listener) return;
    if (this.#unanswered > 0) this.kill();
    this.#listener = undefined;
  }

  /** Reports to a listener that it has left, or that its thread has ended. */
  send(listener: ThreadListener, bytes: Uint8Array): void {
    if (listener !== this.#listener || this.#worker === undefined) {
      listener.died(this.#dead(undefined));
      return;
    }
    this.#unanswered += 1;
    const message: ToThread = { kind: 'bytes', bytes };
    this.#worker.postMessage(message, [bytes.buffer as ArrayBuffer]);
  }

  /** Call this once the tables exist: a database that was created for them becomes the template of others. */
  keepTemplate(): void {
    this.#worker?.postMessage({ kind: 'keep' } satisfies ToThread);
  }

  /** Ends the thread at once. What it had written stays readable. */
  kill(): void {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#forget(worker, this.#dead(undefined));
    this.#ended = worker.terminate();
  }

  /** Closes the database, then ends the thread. */
  async stop(): Promise<void> {
    if (this.#started === undefined) return;
    await this.#started.catch(() => undefined);
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#listener = undefined;
    const exited = new Promise<void>((resolve) => void worker.once('exit', () => resolve()));
    worker.postMessage({ kind: 'stop' } satisfies ToThread);
    const timer = setTimeout(() => void worker.terminate(), PGLITE_STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }

  async #begin(): Promise<void> {
    await this.#ended;
    const url = new URL('./worker.ts', import.meta.url);
    const worker = new Worker(url, { workerData: this.#data, name: 'tidemark-pglite' });
    this.#worker = worker;
    let failure: Error | undefined;
    const timer = setTimeout(() => void worker.terminate(), PGLITE_START_TIMEOUT_MS);
    worker.on('error', (error) => {
      failure = this.#dead(error);
    });
    try {
      await new Promise<void>((resolve, reject) => {
        worker.on('message', (message: FromThread) => {
          // A terminated thread still delivers the messages it had sent, when another connection may listen already.
          if (this.#worker !== worker) return;
          if (message.kind === 'bytes') {
            this.#unanswered -= 1;
            this.#listener?.answer(message.bytes);
          } else if (message.kind === 'ready') resolve();
          else if (message.kind === 'failed') {
            failure = this.#damaged(message.message);
            void worker.terminate();
          }
        });
        worker.on('exit', () => {
          const error = failure ?? this.#dead(undefined);
          this.#forget(worker, error);
          reject(error);
        });
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Handles the end of the thread: reports it to the listener; the next start creates another thread. */
  #forget(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#started = undefined;
    this.#unanswered = 0;
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.died(error);
  }

  #damaged(message: string): Error {
    const remedy = 'It is derived from the log: delete it, and it is rebuilt';
    return new CorruptError('store-damaged', `PGlite can't open ${this.#shown}. ${remedy}. It says: ${message}`, {
      address: this.#shown,
    });
  }

  #dead(cause: unknown): Error {
    return new UnavailableError('store-unavailable', `PGlite on ${this.#shown} has ended`, {
      address: this.#shown,
      ...(cause === undefined ? {} : { cause }),
    });
  }
}
