/**
 * Owns when what is owed is served: several at once, each on its own, and what fails again and again ever more seldom. Must not know what is
 * owed.
 */

import type { Clock } from '@tidemark/ports';
import { backoffMs } from './retry.ts';

const FORGET_PERIOD_MS = 1_000;

export interface DutyOptions {
  readonly clock: Clock;
  readonly atOnce: number;
  /** After the first failure; each further one doubles it. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** For so long what was served is left alone, while rows may still owe it. */
  readonly restMs: number;
  readonly onError: (error: unknown) => void;
}

export class Reconcilers {
  readonly #options: DutyOptions;
  readonly #noted = new Map<string, Noted>();
  readonly #underWay = new Set<string>();
  #forgotMs = 0;

  constructor(options: DutyOptions) {
    this.#options = options;
  }

  /** Whether its time has come (again), and nobody is at it. */
  isDue(name: string): boolean {
    if (this.#underWay.has(name)) return false;
    return (this.#noted.get(name)?.untilMs ?? 0) <= this.#options.clock.monotonicMs();
  }

  /** Resolves once each was served or failed: one that can't be served must not keep the others waiting. */
  async serve<T>(due: readonly T[], nameOf: (duty: T) => string, serve: (duty: T) => Promise<void>): Promise<void> {
    this.#forgetOld();
    const left = [...due].reverse();
    for (const duty of due) this.#underWay.add(nameOf(duty));
    const serveNext = async (): Promise<void> => {
      for (let duty = left.pop(); duty !== undefined; duty = left.pop()) {
        const name = nameOf(duty);
        await serve(duty).then(
          () => this.#note(name, 0),
          (error: unknown) => {
            this.#note(name, (this.#noted.get(name)?.failureCount ?? 0) + 1);
            this.#options.onError(error);
          },
        );
        this.#underWay.delete(name);
      }
    };
    await Promise.all(Array.from({ length: this.#options.atOnce }, serveNext));
  }

  #note(name: string, failureCount: number): void {
    const { clock, retryMs, retryMaxMs, restMs } = this.#options;
    const waitMs = failureCount === 0 ? restMs : backoffMs(failureCount, retryMs, retryMaxMs);
    this.#noted.set(name, { untilMs: clock.monotonicMs() + waitMs, failureCount });
  }

  /** Of what failed more is known for as long as it may come again. */
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
  /** In a row. */
  readonly failureCount: number;
}
