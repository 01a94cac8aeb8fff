/** A stopping worker keeps the steps that end in time and abandons the others at once; what it doesn't know has the budget. */

import { quiet, SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Attempt, Drain, StepAbandonedError } from './drain.ts';
import { DRAIN_POLL_PERIOD_MS } from './limits.ts';

describe('a drain', () => {
  let clock: SimulatedClock;
  let drain: Drain;
  let abandoned: string[];
  let calling: Set<string>;

  beforeEach(() => {
    clock = new SimulatedClock();
    drain = new Drain(clock);
    abandoned = [];
    calling = new Set();
  });

  const begin = (step: string, name = step): Attempt =>
    drain.begin('d', step, {
      abandon: (reason) => {
        expect(reason).toBeInstanceOf(StepAbandonedError);
        abandoned.push(name);
      },
      isCalling: () => calling.has(name),
    });
  /** Past attempts of this duration. */
  const learn = (step: string, ...durationsMs: number[]): void => {
    for (const durationMs of durationsMs) {
      const attempt = begin(step);
      clock.jump(durationMs);
      attempt.end(true);
    }
  };
  const watch = async (budgetMs: number): Promise<AbortController> => {
    const ended = new AbortController();
    void drain.watch(budgetMs, ended.signal);
    await quiet();
    return ended;
  };

  it('abandons at once what past attempts show to take too long, and keeps what ends in time', async () => {
    learn('long', 60_000);
    learn('short', 1_000);
    begin('long');
    begin('short');
    await watch(20_000);
    expect(abandoned).toEqual(['long']);
  });

  it('keeps a long step that is nearly done by its age', async () => {
    learn('long', 60_000);
    begin('long');
    clock.jump(45_000);
    await watch(20_000);
    expect(abandoned).toEqual([]);
  });

  it("believes a step's own progress more than past attempts, both ways", async () => {
    learn('slower', 1_000);
    learn('faster', 60_000);
    const slower = begin('slower');
    const faster = begin('faster');
    clock.jump(5_000);
    slower.progress({ done: 1, total: 100 });
    faster.progress({ done: 90, total: 100 });
    await watch(20_000);
    expect(abandoned).toEqual(['slower']);
  });

  it('leaves progress aside that says nothing', async () => {
    learn('long', 60_000);
    for (const [done, total] of [[0, 0], [0, 10], [11, 10], [Number.NaN, 1]] as const) begin('long').progress({ done, total }); // biome-ignore format: one line
    await watch(20_000);
    expect(abandoned).toHaveLength(4);
  });

  it('gives the whole budget to a step of which it knows nothing, or that is overdue', async () => {
    learn('overdue', 1_000);
    begin('unknown');
    begin('overdue');
    clock.jump(5_000);
    await watch(20_000);
    await clock.run(19_900);
    expect(abandoned).toEqual([]);
  });

  it('learns from whole attempts only, later ones more', async () => {
    const broken = begin('step');
    clock.jump(500_000);
    broken.end(false);
    learn('step', 60_000, ...Array.from({ length: 20 }, () => 1_000));
    begin('step');
    await watch(5_000);
    expect(abandoned).toEqual([]);
  });

  it('abandons a step while the budget runs once its progress shows that it stays behind', async () => {
    const attempt = begin('step');
    clock.jump(1_000);
    attempt.progress({ done: 1, total: 2 });
    await watch(20_000);
    await clock.run(10_000);
    attempt.progress({ done: 60, total: 100 });
    await clock.run(DRAIN_POLL_PERIOD_MS);
    expect(abandoned).toEqual([]);
    attempt.progress({ done: 40, total: 100 });
    await clock.run(DRAIN_POLL_PERIOD_MS);
    expect(abandoned).toEqual(['step']);
  });

  it('lets an open call come to its outcome first (D1)', async () => {
    learn('pay', 60_000);
    begin('pay');
    calling.add('pay');
    await watch(20_000);
    await clock.run(1_000);
    expect(abandoned).toEqual([]);
    calling.clear();
    await clock.run(DRAIN_POLL_PERIOD_MS);
    expect(abandoned).toEqual(['pay']);
  });

  it('ends with the budget, or when all has ended', async () => {
    const ended = await watch(20_000);
    ended.abort();
    await quiet();
    expect(clock.sleeperCount).toBe(0);
    await watch(1_000);
    await clock.run(1_000);
    expect(clock.sleeperCount).toBe(0);
  });
});
