/**
 * Owns the life of PGlite's thread as the rest of the process sees it: start, stop, the report of its death, and whose its
 * answers are. At most one runs at a time; after a death the next start makes a new one, on the same folder.
 *
 * T1 PGlite is one session, so one connection at a time speaks to it. An answer reaches the connection that asked, or nobody.
 * T2 A connection that leaves before it has all its answers takes the thread with it: nothing of that thread is heard again.
 */

import { Worker } from 'node:worker_threads';
import { CorruptError, UnavailableError } from '@tidemark/core';
import { PGLITE_START_TIMEOUT_MS, PGLITE_STOP_TIMEOUT_MS } from '../limits.ts';

export interface ThreadData {
  /** Null: in memory. */
  readonly dataFolder: string | null;
  /** Names the tables that a new database is to have (see template.ts); null: it begins with none. */
  readonly tables: string | null;
}

export type ToThread =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** All tables are made, and nothing is in them. */
  | { readonly kind: 'keep' }
  | { readonly kind: 'stop' };
export type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'stopped' };

/** A connection. */
export interface ThreadListener {
  answer(bytes: Uint8Array): void;
  died(error: Error): void;
}

export class PgliteThread {
  readonly #data: ThreadData;
  readonly #shown: string;
  #worker: Worker | undefined;
  #isRef = true;
  #started: Promise<void> | undefined;
  #listener: ThreadListener | undefined;
  /** Messages of the listener that this thread has not answered. */
  #unanswered = 0;
  /** The end of the thread before, which must not overlap with the next. */
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

  /** Whoever speaks to PGlite from now on; the one before has left. */
  listen(listener: ThreadListener): void {
    if (this.#listener !== undefined) this.leave(this.#listener);
    this.#listener = listener;
  }

  /** Does nothing to a thread whose listener is another. */
  leave(listener: ThreadListener): void {
    if (listener !== this.#listener) return;
    if (this.#unanswered > 0) this.kill();
    this.#listener = undefined;
  }

  /** A listener that has left, or whose thread has ended, is told so. */
  send(listener: ThreadListener, bytes: Uint8Array): void {
    if (listener !== this.#listener || this.#worker === undefined) {
      listener.died(this.#dead(undefined));
      return;
    }
    this.#unanswered += 1;
    const message: ToThread = { kind: 'bytes', bytes };
    this.#worker.postMessage(message, [bytes.buffer as ArrayBuffer]);
  }

  /** Whether its thread keeps the process alive. */
  ref(): void {
    this.#isRef = true;
    this.#worker?.ref();
  }

  unref(): void {
    this.#isRef = false;
    this.#worker?.unref();
  }

  /** The tables have been made: a database that was created for them becomes the template of others. */
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

  /** Closes the database, then the thread. */
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
    if (!this.#isRef) worker.unref();
    let failure: Error | undefined;
    const timer = setTimeout(() => void worker.terminate(), PGLITE_START_TIMEOUT_MS);
    worker.on('error', (error) => {
      failure = this.#dead(error);
    });
    try {
      await new Promise<void>((resolve, reject) => {
        worker.on('message', (message: FromThread) => {
          // A thread that was ended still delivers what it had said, when others may listen already.
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

  /** The thread is no more: whoever listens hears it, and the next start makes another. */
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
    const remedy = 'It is derived from the log: delete it and it is built again';
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
