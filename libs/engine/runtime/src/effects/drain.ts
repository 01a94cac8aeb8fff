/**
 * Owns which steps under way a stopping worker lets end: those that end within its budget, as far as their own progress and
 * past attempts at the same step tell. The others are abandoned at once, so that the next holder starts sooner. Nothing
 * rests on the estimates but how much is repeated.
 *
 * D1 A step whose call to the outside is open is not abandoned before the budget ends: its outcome would be unknown.
 * D2 A step of which nothing is known has the whole budget.
 */

import { FencedError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import type { Progress } from '../definition/index.ts';
import { DRAIN_POLL_PERIOD_MS, STEP_DURATION_WEIGHT, STEP_DURATIONS_MAX } from './limits.ts';

/** Ends one attempt and nothing else of its workflow: it counts as never made. */
export class StepAbandonedError extends FencedError {
  constructor() {
    super('abandoned', 'The worker is stopping, and the step would not end in time.');
  }
}

/** What can be done to an attempt while it runs. */
export interface AttemptControl {
  abandon(reason: StepAbandonedError): void;
  /** Whether a call to the outside is intended and not resolved. */
  isCalling(): boolean;
}

/** An attempt at a step, from its start to its end. */
export interface Attempt {
  progress(progress: Progress): void;
  /** `isWhole`: it came to its result, so its duration tells of the next one's. */
  end(isWhole: boolean): void;
}

interface Running {
  readonly name: string;
  readonly control: AttemptControl;
  readonly startedMs: number;
  /** Share done, 0..1, and when that was said; undefined: the step doesn't tell. */
  reported: { readonly share: number; readonly atMs: number } | undefined;
}

export class Drain {
  readonly #clock: Clock;
  readonly #running = new Set<Running>();
  /** Mean duration of whole attempts by definition and step, in milliseconds; later ones weigh more. */
  readonly #meansMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(definition: string, step: string, control: AttemptControl): Attempt {
    const name = `${definition} ${step}`;
    const running: Running = { name, control, startedMs: this.#clock.monotonicMs(), reported: undefined };
    this.#running.add(running);
    return {
      progress: ({ done, total }) => {
        const share = done / total;
        if (share > 0 && share <= 1) running.reported = { share, atMs: this.#clock.monotonicMs() };
      },
      end: (isWhole) => {
        this.#running.delete(running);
        if (isWhole) this.#learn(name, this.#clock.monotonicMs() - running.startedMs);
      },
    };
  }

  /** For how long the attempts under way have run, taken together; milliseconds. It is what would be done again if none ended. */
  get underWayMs(): number {
    const nowMs = this.#clock.monotonicMs();
    let sumMs = 0;
    for (const { startedMs } of this.#running) sumMs += nowMs - startedMs;
    return sumMs;
  }

  /** Abandons what won't end by then, now or when it shows; until the signal aborts or the budget has run out. */
  async watch(budgetMs: number, ended: AbortSignal): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + budgetMs;
    for (;;) {
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (ended.aborted || leftMs <= 0) return;
      for (const running of [...this.#running]) {
        if (this.#remainingMs(running) <= leftMs || running.control.isCalling()) continue;
        this.#running.delete(running);
        running.control.abandon(new StepAbandonedError());
      }
      await this.#clock.sleep(Math.min(DRAIN_POLL_PERIOD_MS, leftMs), ended);
    }
  }

  /** Estimate of the time to the attempt's end; 0 when nothing is known, or when it is overdue by what is known. */
  #remainingMs({ name, startedMs, reported }: Running): number {
    const nowMs = this.#clock.monotonicMs();
    if (reported !== undefined) {
      const wholeMs = (reported.atMs - startedMs) / reported.share;
      return Math.max(0, startedMs + wholeMs - nowMs);
    }
    const meanMs = this.#meansMs.get(name);
    return meanMs === undefined ? 0 : Math.max(0, startedMs + meanMs - nowMs);
  }

  #learn(name: string, durationMs: number): void {
    const meanMs = this.#meansMs.get(name);
    if (meanMs === undefined && this.#meansMs.size >= STEP_DURATIONS_MAX) return;
    this.#meansMs.set(name, meanMs === undefined ? durationMs : meanMs + STEP_DURATION_WEIGHT * (durationMs - meanMs));
  }
}
