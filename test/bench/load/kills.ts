/**
 * Owns who is ended in a run, how and when: a plan that follows from the seed alone, and its carrying out. Each period one process is killed
 * (SIGKILL), and half a period later another is asked to end (SIGTERM); both are replaced at once. The first of each role is
 * never harmed, so that what a process gathers over the whole run shows.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { upAgain } from '../../chaos/faults.ts';
import { Random } from '../../chaos/random.ts';
import type { Slot } from '../../chaos/slot.ts';

export interface PlannedKill {
  /** From the beginning of what is measured, in milliseconds. */
  readonly atMs: number;
  readonly how: 'SIGKILL' | 'SIGTERM';
  /** Name of a slot. */
  readonly target: string;
}

/** In order of time. `targets`: at least one; with one alone, it is both killed and asked. */
export function killPlan(
  seed: number,
  durationMs: number,
  periodMs: number,
  targets: readonly string[],
): readonly PlannedKill[] {
  const random = new Random(seed);
  const plan: PlannedKill[] = [];
  for (let atMs = periodMs / 2; atMs < durationMs; atMs += periodMs) {
    const target = random.one(targets);
    plan.push({ atMs, how: 'SIGKILL', target });
    const others = targets.filter((name) => name !== target);
    const asked = random.one(others.length === 0 ? targets : others);
    if (atMs + periodMs / 2 < durationMs) plan.push({ atMs: atMs + periodMs / 2, how: 'SIGTERM', target: asked });
  }
  return plan;
}

export interface DoneKill extends PlannedKill {
  /** Until its replacement stood, in milliseconds; undefined while it doesn't. */
  backMs?: number;
}

export class Kills {
  readonly done: DoneKill[] = [];
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #onSurprise: (what: string) => void;
  readonly #underWay = new Set<Promise<void>>();

  constructor(slots: readonly Slot[], onSurprise: (what: string) => void) {
    this.#slots = new Map(slots.map((slot) => [slot.name, slot]));
    this.#onSurprise = onSurprise;
  }

  /** Carries out the plan from now on; resolves when all of it is done and everybody stands, or soon after the signal aborts. */
  async run(plan: readonly PlannedKill[], signal: AbortSignal): Promise<void> {
    const startedMs = performance.now();
    for (const planned of plan) {
      const waitMs = startedMs + planned.atMs - performance.now();
      await wait(Math.max(0, waitMs), undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      const over = this.#end(planned, this.#slots.get(planned.target)!)
        .catch((error: unknown) => this.#onSurprise(`${planned.how} of ${planned.target}: ${error}`))
        .finally(() => this.#underWay.delete(over));
      this.#underWay.add(over);
    }
    if (!signal.aborted) await Promise.all(this.#underWay);
  }

  async #end(planned: PlannedKill, slot: Slot): Promise<void> {
    if (!slot.isUp) throw new Error('it was not up, and is left alone');
    const kill: DoneKill = { ...planned };
    this.done.push(kill);
    const startedMs = performance.now();
    if (planned.how === 'SIGKILL') slot.kill();
    else await slot.terminate();
    await upAgain(slot);
    kill.backMs = performance.now() - startedMs;
  }
}
