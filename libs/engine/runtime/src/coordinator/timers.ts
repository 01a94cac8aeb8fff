/**
 * Owns the firing of durable timers: retries, waits, time-outs, schedules. A timer's anchor and delay are in the log; a coordinator's clock
 * only decides the moment. The event's id derives from the timer, so two coordinators that fire it write the same event.
 */

import { eventId } from '@tidemark/core';
import type { DueTimer } from '@tidemark/ports';
import { type Ports, Reconcilers, WOKEN } from '../kernel/index.ts';
import type { Inbox } from '../lease/index.ts';
import { TIMER_PAGE_COUNT } from './limits.ts';

/** Most pages of one poll that have only timers which already fired or can't fire. */
const TIMER_PAGES_MAX = 20;
/** A timer that fired fires again if rows still have it after this time, in milliseconds; the event is the same, and counts once. */
export const TIMER_REST_MS = 10_000;
/** First and longest pause before a failed write is retried, in milliseconds. */
export const TIMER_RETRY_MS = 100;
const TIMER_RETRY_MAX_MS = 5_000;
/** Longest wait for writes before the next poll, in milliseconds. */
export const TIMER_PATIENCE_MS = 1_000;

export interface TimersOptions {
  readonly ports: Pick<Ports, 'store' | 'clock'>;
  readonly inbox: Inbox;
  readonly onError: (error: unknown) => void;
}

export class Timers {
  readonly #options: TimersOptions;
  /** Bounds repetition: a fired timer stays in rows until they follow, and one that can't be written stays due until it can. */
  readonly #reconcilers: Reconcilers;
  /** Where the last poll ended if it found nothing to fire in as many pages as it may read. */
  #passed: DueTimer | undefined;

  constructor(options: TimersOptions) {
    this.#options = options;
    this.#reconcilers = new Reconcilers({
      clock: options.ports.clock,
      atOnce: TIMER_PAGE_COUNT,
      retryMs: TIMER_RETRY_MS,
      retryMaxMs: TIMER_RETRY_MAX_MS,
      restMs: TIMER_REST_MS,
      onError: options.onError,
    });
  }

  /** Fires the timers that are due now. */
  async fire(): Promise<void> {
    const fired = this.#reconcilers.serve(await this.#due(), nameOf, (timer) => this.#fire(timer));
    const isOver = new AbortController();
    // A partition that accepts no writes delays the timers of others by no more than this.
    await Promise.race([
      fired.then(() => isOver.abort(WOKEN)),
      this.#options.ports.clock.sleep(TIMER_PATIENCE_MS, isOver.signal),
    ]);
  }

  /** The first page with something to fire. However many due timers can't go away, those after them are found. */
  async #due(): Promise<readonly DueTimer[]> {
    const { store, clock } = this.#options.ports;
    const nowMs = clock.nowMs();
    const starts = this.#passed === undefined ? [undefined] : [undefined, this.#passed];
    this.#passed = undefined;
    for (let after of starts) {
      for (let page = 0; page < TIMER_PAGES_MAX; page++) {
        const due = await store.dueTimers(nowMs, TIMER_PAGE_COUNT, after);
        const fresh = due.filter((timer) => this.#reconcilers.isDue(nameOf(timer)));
        if (fresh.length > 0 || due.length < TIMER_PAGE_COUNT) return fresh;
        after = due.at(-1);
      }
      this.#passed = after;
    }
    return [];
  }

  async #fire(timer: DueTimer): Promise<void> {
    await this.#options.inbox.write(timer, eventId(`timer:${timer.timer}`), 'TimerFired', { timer: timer.timer }, null);
  }
}

const nameOf = (timer: DueTimer): string => `${timer.workflow} ${timer.timer}`;
