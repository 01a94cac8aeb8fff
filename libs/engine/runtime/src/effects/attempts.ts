/**
 * Owns the running attempts of one run: how each is discarded, and how all of them learn that their workflow is cancelled. A cancellation
 * alone discards none, since a step may finish within the grace, and attempts that begin after it end of their own. It does not judge what
 * an attempt returned.
 *
 * A1 A cancellation does not abandon a step whose call to the outside is open: its outcome would be unknown.
 */

import { type TaskId, TidemarkError, type WorkflowId } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { StepAbandonedError } from './drain.ts';
import { DRAIN_POLL_PERIOD_MS } from './limits.ts';

/** Time that running steps have to finish once their workflow is cancelled, in milliseconds. */
const CANCEL_GRACE_MS = 10_000;

/** The reason of `ctx.signal` in a step whose workflow is cancelled. */
export class WorkflowCancelledError extends TidemarkError {
  override readonly name = 'WorkflowCancelledError';

  constructor(workflow: WorkflowId, code: string, by: string) {
    super('workflow-cancelled', `Workflow ${workflow} is being cancelled (${code}) by ${by}: finish or stop.`, {
      workflow,
      reason: code,
    });
  }
}

/** How one attempt at a step can be ended before the step returns. */
export interface AttemptEnds {
  /** Aborts when the attempt is discarded. */
  readonly over: AbortSignal;
  /** The signal that the step sees. It aborts when the attempt is discarded, and when the workflow is cancelled. */
  readonly stepSignal: AbortSignal;
  abort(reason: unknown): void;
  /**
   * Settles as the work does, but rejects as soon as the attempt is discarded, so that a step that ignores its signal holds nothing. Call
   * it for one work only: an abort rejects the last one alone.
   */
  unlessOver<T>(work: Promise<T>): Promise<T>;
}

/** Creates its signal on first use: most steps never ask for it, and it would cost more than anything else that a step is given. */
class LazyAbortSignal {
  #controller: AbortController | undefined;
  #ended: { readonly reason: unknown } | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#ended !== undefined) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  get ended(): { readonly reason: unknown } | undefined {
    return this.#ended;
  }

  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#controller?.abort(reason);
  }
}

class Ends implements AttemptEnds {
  readonly task: TaskId;
  readonly #over = new LazyAbortSignal();
  readonly #stepSignal = new LazyAbortSignal();
  #leave: ((reason: unknown) => void) | undefined;

  constructor(task: TaskId) {
    this.task = task;
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  get stepSignal(): AbortSignal {
    return this.#stepSignal.signal;
  }

  abort(reason: unknown): void {
    this.#over.end(reason);
    this.#stepSignal.end(reason);
    this.#leave?.(reason);
  }

  cancel(reason: unknown): void {
    this.#stepSignal.end(reason);
  }

  unlessOver<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#leave = reject;
      const ended = this.#over.ended;
      if (ended !== undefined) reject(ended.reason);
      work.then(resolve, reject);
    });
  }
}

export class Attempts {
  readonly #clock: Clock;
  readonly #isCalling: (task: TaskId) => boolean;
  readonly #underWay = new Set<Ends>();
  #isCancelled = false;

  constructor(clock: Clock, isCalling: (task: TaskId) => boolean) {
    this.#clock = clock;
    this.#isCalling = isCalling;
  }

  get count(): number {
    return this.#underWay.size;
  }

  begin(task: TaskId): Ends {
    const ends = new Ends(task);
    this.#underWay.add(ends);
    return ends;
  }

  /** Forgets an attempt that has ended. A second call does nothing. */
  end(ends: Ends): void {
    this.#underWay.delete(ends);
  }

  abort(reason: unknown): void {
    for (const ends of this.#underWay) ends.abort(reason);
  }

  /** Abandons the attempts at these tasks. */
  abandon(tasks: readonly TaskId[]): void {
    for (const ends of this.#underWay) if (tasks.includes(ends.task)) ends.abort(new StepAbandonedError());
  }

  /**
   * Aborts the signals that steps see, and after the grace abandons the attempts that are still running (except A1). Resolves when none is
   * left, or when the run is over. A second call does nothing.
   */
  async cancel(reason: WorkflowCancelledError, over: AbortSignal): Promise<void> {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const told = [...this.#underWay];
    for (const ends of told) ends.cancel(reason);
    const untilMs = this.#clock.monotonicMs() + CANCEL_GRACE_MS;
    const left = (): readonly Ends[] => told.filter((ends) => this.#underWay.has(ends));
    while (left().length > 0 && !over.aborted) {
      await this.#clock.sleep(DRAIN_POLL_PERIOD_MS, over);
      if (this.#clock.monotonicMs() < untilMs) continue;
      for (const ends of left()) if (!this.#isCalling(ends.task)) ends.abort(new StepAbandonedError());
    }
  }
}
