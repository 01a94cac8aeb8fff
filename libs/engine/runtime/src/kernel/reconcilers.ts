/**
 * Owns when pending work is served: several items at once, each independent of the others, and one that keeps failing ever more rarely. It
 * does not know what serving an item does.
 */

import type { Clock } from '@tidemark/ports';
import { backoffMs } from './retry.ts';

const FORGET_PERIOD_MS = 1_000;

export interface ReconcilerOptions {
  readonly clock: Clock;
  readonly atOnce: number;
  /** Delay after the first failure; each further failure doubles it. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** How long an item rests after a success, because rows may still show it as due. */
  readonly restMs: number;
  readonly onError: (error: unknown) => void;
}

export class Reconcilers {
  readonly #options: ReconcilerOptions;
  readonly #noted = new Map<string, Noted>();
  readonly #underWay = new Set<string>();
  #forgotMs = 0;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Whether the item may be served: it is not in progress, and its rest or back-off is over. */
  isDue(name: string): boolean {
    if (this.#underWay.has(name)) return false;
    return (this.#noted.get(name)?.untilMs ?? 0) <= this.#options.clock.monotonicMs();
  }

  /** Resolves once each item has succeeded or failed. One that fails does not keep the others waiting. */
  async serve<T>(due: readonly T[], nameOf: (item: T) => string, serve: (item: T) => Promise<void>): Promise<void> {
    this.#forgetOld();
    const left = [...due].reverse();
    for (const item of due) this.#underWay.add(nameOf(item));
    const serveNext = async (): Promise<void> => {
      for (let item = left.pop(); item !== undefined; item = left.pop()) {
        const name = nameOf(item);
        await serve(item).then(
          () => this.#note(name, 0),
          (error: unknown) => {
            this.#note(name, (this.#noted.get(name)?.failureCount ?? 0) + 1);
            this.#options.onError(error);
          },
        );
        this.#underWay.delete(name);
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#options.atOnce, due.length) }, serveNext));
  }

  #note(name: string, failureCount: number): void {
    const { clock, retryMs, retryMaxMs, restMs } = this.#options;
    const waitMs = failureCount === 0 ? restMs : backoffMs(failureCount, retryMs, retryMaxMs);
    this.#noted.set(name, { untilMs: clock.monotonicMs() + waitMs, failureCount });
  }

  /** A failed item is remembered for one longest back-off more, so that its count survives until the next attempt. */
  #forgetOld(): void {
    const { clock, retryMaxMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#forgotMs < FORGET_PERIOD_MS) return;
    this.#forgotMs = nowMs;
    for (const [name, { untilMs, failureCount }] of this.#noted) {
      if (untilMs + (failureCount === 0 ? 0 : retryMaxMs) < nowMs) this.#noted.delete(name);
    }
  }
}

interface Noted {
  /** On the monotonic clock. */
  readonly untilMs: number;
  /** Failures in a row. */
  readonly failureCount: number;
}
