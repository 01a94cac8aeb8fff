/**
 * Owns the family of a run from outside: starts it, answers what its children ask (as several people who all answer everything, more than once),
 * and waits for its end. Servers that are away come back, so what fails is tried again.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { TidemarkError } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import { childrenOf, type FamilyStart } from './family-checks.ts';
import { tick, tribe } from './family-workload.ts';
import { CHILDREN_COUNT, FAMILY_PERIOD_MS, SLOT_PERIOD_MS, SLOTS_MIN } from './limits.ts';
import type { Random } from './random.ts';

const PEOPLE = ['ana', 'bob'] as const;
/** Children whose questions are answered in one look: so that faults come in between. */
const ANSWERED_AT_ONCE = 10;
const RUNS_MAX = 1_000;

export class Family {
  readonly start: FamilyStart;
  readonly #host: Host;
  readonly #onSurprise: (what: string) => void;
  readonly #isEnded: (workflow: string) => boolean;
  readonly #ending = new AbortController();
  #runs: readonly { readonly workflow: string; readonly isOpen: boolean }[] = [];
  #living: Promise<void> | undefined;
  /** Set when the schedule is to end. */
  #isMoving: (() => boolean) | undefined;

  constructor(host: Host, random: Random, isEnded: (workflow: string) => boolean, onSurprise: (what: string) => void) {
    this.#host = host;
    this.#isEnded = isEnded;
    this.#onSurprise = onSurprise;
    const amounts = Array.from({ length: CHILDREN_COUNT }, () => random.between(1, 10_000));
    this.start = { parent: 'tribe-0', amounts, schedule: 'ticks', periodMs: SLOT_PERIOD_MS, slotsMin: SLOTS_MIN };
  }

  /** All that is known to belong to it. */
  get ids(): readonly string[] {
    const { parent, schedule } = this.start;
    return [parent, schedule, ...childrenOf(this.start), ...this.#runs.map(({ workflow }) => workflow)];
  }

  begin(): void {
    this.#living = this.#live();
  }

  /** Ends the schedule, and resolves when all has ended, or when nothing moves any more. */
  async finish(isMoving: () => boolean): Promise<void> {
    this.#isMoving = isMoving;
    await this.#living;
  }

  stop(): void {
    this.#ending.abort();
  }

  async #live(): Promise<void> {
    const { parent, amounts, schedule } = this.start;
    const { client } = this.#host;
    const cron = `*/${SLOT_PERIOD_MS / 1_000} * * * * *`;
    const spec = { id: schedule, cron, overlap: 'allow', catchUp: RUNS_MAX, slotField: 'slot' } as const;
    await this.#untilDone(() => client.start(tribe, { amounts: [...amounts] }, { id: parent }));
    await this.#untilDone(() => client.schedules.set(tick, {} as never, spec));
    while (!this.#ending.signal.aborted) {
      await this.#tried(() => this.#answer());
      if (this.#isMoving !== undefined && ((await this.#hasEnded()) || !this.#isMoving())) return;
      await this.#pause();
    }
  }

  /** Everybody answers, and the first one twice: who was first is for the log to say. */
  async #answer(): Promise<void> {
    const { client } = this.#host;
    const { approvals } = await client.approvals({ assignees: ['group:chaos'] });
    const answers = approvals
      .slice(0, ANSWERED_AT_ONCE)
      .flatMap(({ workflow, task }) =>
        [...PEOPLE, PEOPLE[0]].map((by) =>
          this.#tried(() => client.approve(workflow, task, { approved: true, by, value: { n: 1 } })),
        ),
      );
    await Promise.all(answers);
  }

  async #hasEnded(): Promise<boolean> {
    const { client, ports } = this.#host;
    const { parent, schedule } = this.start;
    if (!this.#isEnded(schedule)) {
      await this.#tried(() => client.cancel(schedule, { by: 'chaos', why: 'the run is over' }));
      return false;
    }
    await this.#tried(async () => {
      const rows = await ports.store.workflows({ definition: tick.name, limit: RUNS_MAX });
      this.#runs = rows.map(({ workflow, closedInGeneration }) => ({ workflow, isOpen: closedInGeneration === null }));
    });
    const isDone = this.#runs.length > 0 && this.#runs.every(({ isOpen }) => !isOpen);
    return isDone && [parent, ...childrenOf(this.start)].every(this.#isEnded);
  }

  async #untilDone(work: () => Promise<unknown>): Promise<void> {
    while (!this.#ending.signal.aborted && !(await this.#tried(work))) await this.#pause();
  }

  async #tried(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (this.#ending.signal.aborted) return false;
      const code = error instanceof TidemarkError ? error.code : String(error);
      if (!HARMLESS.test(code)) this.#onSurprise(`the family: ${error}`);
      return false;
    }
  }

  async #pause(): Promise<void> {
    await wait(FAMILY_PERIOD_MS, undefined, { signal: this.#ending.signal }).catch(() => {});
  }
}

const HARMLESS =
  /unavailable|rebuilding|missing|client-closed|not-asked|already-answered|workflow-unknown|workflow-closed|in-doubt|rows-behind/;
