/**
 * Owns which running steps a draining worker lets finish: those that will end within its budget, judged by their own progress and by past
 * attempts at the same step. It abandons the others at once, so that the next holder starts sooner. A wrong estimate only changes how much
 * work is repeated.
 *
 * D1 A step whose call to the outside is open is not abandoned before the budget ends: its outcome would be unknown.
 * D2 A step of which nothing is known has the whole budget.
 */

import { FencedError } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import type { Progress } from '../definition/index.ts';
import { DRAIN_POLL_PERIOD_MS } from './limits.ts';

/** Weight of the newest attempt in the mean duration of a step, 0..1; and the number of steps of which a mean is kept. */
const STEP_DURATION_WEIGHT = 0.2;
const STEP_DURATIONS_MAX = 10_000;

/** Discards one attempt, and ends nothing else of its workflow. */
export class StepAbandonedError extends FencedError {
  constructor() {
    super('abandoned', 'The worker is stopping, or the workflow is cancelled, and the step would not end in time.');
  }
}

/** What the drain may do with a running attempt. */
export interface AttemptControl {
  abandon(reason: StepAbandonedError): void;
  /** Whether a call to the outside is intended and not resolved. */
  isCalling(): boolean;
}

/** Reports one attempt at a step to the drain, from its start to its end. */
export interface Attempt {
  progress(progress: Progress): void;
  /** `isWhole`: the step returned a result, so the attempt's duration counts for later estimates. */
  end(isWhole: boolean): void;
}

interface Running {
  readonly name: string;
  readonly control: AttemptControl;
  readonly startedMs: number;
  /** Share done, above 0 and up to 1, and when it was reported; undefined if the step reports no progress. */
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

  /** Total time that the running attempts have taken so far, in milliseconds: the work that is repeated if none of them finishes. */
  get underWayMs(): number {
    const nowMs = this.#clock.monotonicMs();
    let sumMs = 0;
    for (const { startedMs } of this.#running) sumMs += nowMs - startedMs;
    return sumMs;
  }

  /**
   * Abandons each attempt as soon as it is not expected to finish within the budget. Resolves when the signal aborts, or when the budget
   * has run out.
   */
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

  /** Estimated time until the attempt finishes, in milliseconds; 0 if nothing is known (D2), or if it has run longer than estimated. */
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
