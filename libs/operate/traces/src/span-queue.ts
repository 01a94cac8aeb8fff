/**
 * Owns the spans that wait for a collector: bounded, sent in order by one request at a time, kept while the collector is unreachable, and
 * dropped and counted when there are too many. Adding a span never waits.
 *
 * Q1 `settledCount` never passes a span that was neither taken by the collector nor dropped.
 */

import type { Clock } from '@tidemark/ports';
import { LAST_FLUSH_MAX_MS, SPANS_PER_REQUEST_MAX } from './limits.ts';
import type { TraceSpan } from './span.ts';
import { SpanRequests } from './span-requests.ts';

/** Spans that wait for a collector, at most; further ones are dropped and counted. */
export const SPANS_WAITING_MAX = 32_768;
/** Time between two requests, in milliseconds, while nothing fails. */
export const FLUSH_PERIOD_MS = 1_000;
/** First and longest pause after a request that failed, in milliseconds. */
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/** `cut`: the span alone was too large, and was sent without most of its content. */
export type DropReason = 'queue-full' | 'refused' | 'history-unread' | 'histories-full' | 'cut';

export interface SpanQueueOptions {
  readonly clock: Clock;
  /**
   * Sends one request, within a bounded time once `ending` is aborted. Throws `UnavailableError` where a retry may succeed, and `LimitError`
   * (`collector-too-large`) where a smaller one may.
   */
  readonly send: (spans: readonly TraceSpan[], ending: AbortSignal) => Promise<void>;
  readonly onDropped: (count: number, reason: DropReason) => void;
  readonly onError: (error: unknown) => void;
  /** Called after each check of what waits, sent or not. */
  readonly onFlushed?: () => Promise<void>;
}

export class SpanQueue {
  readonly #options: SpanQueueOptions;
  readonly #requests: SpanRequests;
  #waiting: TraceSpan[] = [];
  #settledCount = 0;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #wake = new AbortController();
  /** When the last request may begin, on the monotonic clock. */
  #lastMs = Number.POSITIVE_INFINITY;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
    this.#requests = new SpanRequests((error) => {
      options.onDropped(1, 'cut');
      options.onError(error);
    });
  }

  /** Spans that were ever put in. */
  get pushedCount(): number {
    return this.#settledCount + this.#waiting.length;
  }

  /** The number of those that the collector has, or that were dropped. */
  get settledCount(): number {
    return this.#settledCount;
  }

  push(spans: readonly TraceSpan[]): void {
    const room = Math.max(0, SPANS_WAITING_MAX - this.#waiting.length);
    for (let at = 0; at < spans.length && at < room; at++) this.#waiting.push(spans[at]!);
    if (spans.length > room) {
      const count = spans.length - room;
      this.#settledCount += count;
      this.#options.onDropped(count, 'queue-full');
    }
    // Aborts once: every call of `abort` creates an exception with its stack, which took more than drawing a span.
    if (this.#waiting.length >= SPANS_PER_REQUEST_MAX && !this.#wake.signal.aborted) this.#wake.abort();
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Sends what waits, within a bounded time. */
  async stop(): Promise<void> {
    this.#lastMs = this.#options.clock.monotonicMs() + LAST_FLUSH_MAX_MS;
    this.#stopped.abort();
    this.#wake.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, onError, onFlushed } = this.#options;
    let failureCount = 0;
    for (;;) {
      const isLast = this.#stopped.signal.aborted;
      try {
        await this.#flush();
        failureCount = 0;
      } catch (error) {
        failureCount++;
        onError(error);
      }
      await onFlushed?.().catch(onError);
      // A collector that has failed as the process ends is not asked again.
      if (isLast || (failureCount > 0 && this.#stopped.signal.aborted)) return;
      if (this.#stopped.signal.aborted) continue;
      const pauseMs =
        failureCount === 0 ? FLUSH_PERIOD_MS : Math.min(RETRY_FIRST_MS * 2 ** (failureCount - 1), RETRY_MAX_MS);
      await this.#pause(clock, pauseMs, failureCount > 0);
    }
  }

  /** A full request's worth cuts the pause short, but not the one after a failure. */
  async #pause(clock: Clock, pauseMs: number, isBackOff: boolean): Promise<void> {
    if (this.#wake.signal.aborted && !this.#stopped.signal.aborted) this.#wake = new AbortController();
    if (!isBackOff && this.#waiting.length >= SPANS_PER_REQUEST_MAX) return;
    await clock.sleep(pauseMs, isBackOff ? this.#stopped.signal : this.#wake.signal);
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0 && this.#options.clock.monotonicMs() <= this.#lastMs) {
      const { send, onDropped, onError } = this.#options;
      // An unreachable collector may come back, so that throws; one that refused would refuse again.
      const { count, refusal } = await this.#requests.send(this.#waiting, (spans) => send(spans, this.#stopped.signal));
      if (refusal !== undefined) {
        onDropped(count, 'refused');
        onError(refusal);
      }
      this.#waiting.splice(0, count);
      this.#settledCount += count;
    }
  }
}
