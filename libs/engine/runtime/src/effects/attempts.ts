/**
 * Owns the attempts of one run that are under way: how each is ended, and how all learn that their workflow is cancelled. That
 * ends none of them: a step may finish within the grace. Must not judge what an attempt came to.
 *
 * A1 A step whose call to the outside is open is not abandoned for a cancel: its outcome would be unknown.
 */

import { type TaskId, TidemarkError, type WorkflowId } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import { StepAbandonedError } from './drain.ts';
import { CANCEL_GRACE_MS, DRAIN_POLL_PERIOD_MS } from './limits.ts';

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

/** One attempt at a step. */
export interface AttemptEnds {
  /** Aborts when it counts as never made. */
  readonly over: AbortSignal;
  /** What the step sees: also aborts when the workflow is cancelled. */
  readonly stepSignal: AbortSignal;
  abort(reason: unknown): void;
  /** Settles as the work does, or rejects once it counts as never made: a step that doesn't heed its signal holds nothing. Of one work. */
  unlessOver<T>(work: Promise<T>): Promise<T>;
}

/** A signal that is made when it is first asked for: most steps never ask, and it is the dearest thing that they would be given. */
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
  #cancelled: WorkflowCancelledError | undefined;

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
    if (this.#cancelled !== undefined) ends.cancel(this.#cancelled);
    return ends;
  }

  /** The attempt is over. Harmless when repeated. */
  end(ends: Ends): void {
    this.#underWay.delete(ends);
  }

  abort(reason: unknown): void {
    for (const ends of this.#underWay) ends.abort(reason);
  }

  /** Tells all of them, once; those that outlast the grace are abandoned. Resolves when none is left, or the run is over. */
  async cancel(reason: WorkflowCancelledError, over: AbortSignal): Promise<void> {
    if (this.#cancelled !== undefined) return;
    this.#cancelled = reason;
    for (const ends of this.#underWay) ends.cancel(reason);
    const untilMs = this.#clock.monotonicMs() + CANCEL_GRACE_MS;
    while (this.#underWay.size > 0 && !over.aborted) {
      await this.#clock.sleep(DRAIN_POLL_PERIOD_MS, over);
      if (this.#clock.monotonicMs() < untilMs) continue;
      for (const ends of this.#underWay) if (!this.#isCalling(ends.task)) ends.abort(new StepAbandonedError());
    }
  }
}
