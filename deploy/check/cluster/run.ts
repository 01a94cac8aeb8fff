/** Owns one run of the check: loads, what is measured of them, and what it found wrong. */

import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@tidemark/testkit/eventually';
import type { Report } from '../../../test/bench/report.ts';
import type { Installation, Pod } from './installation.ts';
import { doubledSteps, holders, type Loss, lostSteps, type Outside, repeatedSteps, resumedAfterMs } from './marks.ts';
import type { Runs } from './runs.ts';
import type { World } from './world.ts';

/** How long a step works, in milliseconds. */
export const STEP_MS = 100;
/** A load is under way when each of its runs has begun so many steps. */
const STEPS_FIRST = 4;
const WAIT_MAX_MS = 90_000;
/** Resumed runs are seen for some steps more. */
const MORE_STEPS_MS = 500;

export interface Parts {
  readonly world: World;
  readonly installation: Installation;
  readonly outside: Outside;
  readonly runs: Runs;
  readonly report: Report;
}

export class Run {
  readonly world: World;
  readonly installation: Installation;
  readonly outside: Outside;
  readonly runs: Runs;
  readonly #report: Report;
  readonly #lost = new Map<string, Loss[]>();
  readonly #ended = new Map<string, number>();
  readonly #loads = new Map<string, readonly string[]>();
  readonly wrong: string[] = [];

  constructor({ world, installation, outside, runs, report }: Parts) {
    this.world = world;
    this.installation = installation;
    this.outside = outside;
    this.runs = runs;
    this.#report = report;
  }

  figure(name: string, value: number, unit: string): void {
    this.#report.add(`cluster.${name}`, value, unit);
  }

  /** Starts runs named PREFIX-0, …; resolves as soon as each is under way. */
  async load(definition: string, prefix: string, count: number): Promise<void> {
    this.#loads.set(prefix, await this.runs.start(definition, prefix, count, STEP_MS));
    await this.underWay(prefix);
  }

  async underWay(prefix: string, steps = STEPS_FIRST): Promise<void> {
    const began = (): ReadonlyMap<string, number> => {
      const counts = new Map<string, number>();
      for (const { run } of this.outside.attempts)
        if (run.startsWith(`${prefix}-`)) counts.set(run, (counts.get(run) ?? 0) + 1);
      return counts;
    };
    const count = this.#loads.get(prefix)?.length ?? 0;
    const all = (): boolean => [...began().values()].filter((steps_) => steps_ >= steps).length === count;
    await eventually(all, { what: `all of ${prefix} are under way`, timeoutMs: WAIT_MAX_MS });
  }

  /** Ends the load, and asks each run how it ended. */
  async end(prefix: string): Promise<void> {
    this.outside.end(prefix);
    const ended = await Promise.all((this.#loads.get(prefix) ?? []).map((id) => this.runs.ended(id)));
    for (const { run, status, output } of ended) {
      if (status !== 'completed' || output === undefined) this.wrong.push(`${run} is ${status}`);
      else if (output.sum !== (output.steps * (output.steps + 1)) / 2)
        this.wrong.push(`${run} says ${JSON.stringify(output)}`);
      else this.#ended.set(run, output.steps);
    }
  }

  /** The pod of that part with the most runs of the load. */
  async busiest(prefix: string): Promise<Pod> {
    const pods = await this.installation.pods('worker');
    const held = [...holders(this.outside.attempts, prefix).values()];
    const countOf = (pod: Pod): number => held.filter((name) => name === pod.name).length;
    return pods.toSorted((a, b) => countOf(b) - countOf(a))[0]!;
  }

  /** Waits until every run that these pods had has begun a step elsewhere, and returns how long the last of them took, in milliseconds. */
  async resumed(prefix: string, pods: readonly string[], sinceMs: number): Promise<number> {
    const taken = (): readonly (number | undefined)[] =>
      resumedAfterMs(this.outside.attempts, prefix, new Set(pods), sinceMs);
    const all = (): boolean => !taken().includes(undefined);
    await eventually(all, { what: `what ${pods} had runs elsewhere`, timeoutMs: WAIT_MAX_MS });
    const after = taken().map((ms) => ms ?? 0);
    this.note(`  ${after.length} runs resumed after ${after.toSorted((a, b) => a - b).join(', ')} ms`);
    if (after.length === 0) this.wrong.push(`${prefix}: ${pods} had no run`);
    await pause(MORE_STEPS_MS);
    return Math.max(0, ...after);
  }

  /** What these pods have in hand while they are taken away may run again: they are back once the returned function is called, or gone. */
  lost(pods: readonly string[], takeAway: () => void): () => void {
    const loss = { fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
    for (const pod of pods) this.#lost.set(pod, [...(this.#lost.get(pod) ?? []), loss]);
    takeAway();
    return () => {
      loss.untilMs = Date.now();
    };
  }

  note(text: string): void {
    this.#report.note(text);
  }

  check(isSo: boolean, otherwise: string): void {
    if (!isSo) this.wrong.push(otherwise);
  }

  /** The verdict of the outside on all runs together. */
  judge(): void {
    const { attempts, marks } = this.outside;
    const verdicts = {
      lost: lostSteps(this.#ended, marks),
      doubled: doubledSteps(marks),
      repeated_steps: repeatedSteps(attempts, this.#lost),
    };
    this.figure('runs', this.#ended.size, '');
    this.figure('steps', new Set(marks.map(({ key }) => key)).size, '');
    for (const [name, steps] of Object.entries(verdicts)) {
      this.figure(name, steps.length, '');
      if (steps.length > 0) this.wrong.push(`${name}: ${steps.slice(0, 5).join('; ')}`);
    }
  }
}
