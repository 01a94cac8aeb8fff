/**
 * Owns what stands between a step and all that is recorded for it: nothing begins once the attempt has ended, and no step passes over a stop.
 * Must not end the attempt.
 */

import { BUDGET_EXCEEDED, InvalidError } from '@tidemark/core';
import { ParkError } from '../definition/index.ts';
import { RUN_AWAY_LOOP } from '../effects/index.ts';
import { EFFECT_NOT_RECORDED } from '../kernel/index.ts';

/** Pauses for want of budget or of a record, and stops of run-away agents: a step that catches all errors must not pass over them. */
const STOPS: readonly string[] = [BUDGET_EXCEEDED, RUN_AWAY_LOOP, EFFECT_NOT_RECORDED];

export class StepGuard {
  readonly #step: string;
  #stop: unknown;
  /** The attempt has ended: what it was given is of no use any more. */
  isOver = false;

  constructor(step: string) {
    this.#step = step;
  }

  /** Does the work, and remembers a stop. Rejects with `InvalidError` (`step-ended`) after the end, when only a closure that kept its context can ask. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.isOver) throw stepEnded(this.#step);
    try {
      return await work();
    } catch (error) {
      if (error instanceof ParkError && STOPS.includes(error.code)) this.#stop ??= error;
      throw error;
    }
  }

  /** Throws the first stop. */
  check(): void {
    if (this.#stop !== undefined) throw this.#stop;
  }
}

const stepEnded = (step: string): InvalidError =>
  new InvalidError(
    'step-ended',
    `Step ${step} has ended: its ctx records nothing any more. Await what it calls; a compensation has its own context, and asks no model.`,
    { step },
  );
