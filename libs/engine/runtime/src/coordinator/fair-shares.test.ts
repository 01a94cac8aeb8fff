/** Who is asked to give up runs, and that nothing oscillates: held against views, and in a world of workers. */

import { type HolderId, holderId, type WorkflowId } from '@tidemark/core';
import type { Announcement, LivenessView } from '@tidemark/ports';
import type { Worker } from '@tidemark/runtime';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FairShares, SHARE_PERIOD_MS } from './fair-shares.ts';

const VIEW_MS = 250;
const SAME: Announcement = { serves: ['1 a', '1! a'], routes: [], concurrency: 100 };

describe('shares', () => {
  let shares: FairShares;
  let nowMs = 0;
  let announced: Map<HolderId, Announcement>;

  beforeEach(() => {
    shares = new FairShares();
    announced = new Map();
  });

  const view = (counts: Readonly<Record<string, number>>, trusted = true): Omit<LivenessView, 'isGone' | 'builds'> => {
    const leases = (count: number) =>
      new Map(Array.from({ length: count }, (_, at) => [`${at}` as WorkflowId, 1 as never]));
    const holders = new Map(Object.entries(counts).map(([name, count]) => [holderId(name), leases(count)]));
    for (const holder of holders.keys()) if (!announced.has(holder)) announced.set(holder, SAME);
    return { trusted, holders, announced };
  };

  /** What is asked in `ms` of views of these counts; of each worker the last that it was asked. */
  const during = (
    ms: number,
    counts: (sinceMs: number) => Readonly<Record<string, number>>,
  ): Record<string, number> => {
    const asked: Record<string, number> = {};
    const sinceMs = nowMs;
    for (const untilMs = nowMs + ms; nowMs < untilMs; nowMs += VIEW_MS)
      for (const [holder, max] of shares.seen(view(counts(nowMs - sinceMs)), nowMs)) asked[holder] = max;
    return asked;
  };
  const LONG_MS = 2 * SHARE_PERIOD_MS + VIEW_MS;

  it('a worker with more than a share keeps a share, once another has had little for a period', () => {
    expect(during(SHARE_PERIOD_MS, () => ({ a: 10, b: 0 }))).toEqual({});
    expect(during(VIEW_MS, () => ({ a: 10, b: 0 }))).toEqual({ a: 5 });
  });

  it('nobody is asked where all are near enough to a share', () => {
    expect(during(LONG_MS, () => ({ a: 60, b: 42, c: 48 }))).toEqual({});
    expect(during(LONG_MS, () => ({ a: 4, b: 2, c: 1 }))).toEqual({});
  });

  it('nobody is asked for what comes and goes within a period', () => {
    const turns = (sinceMs: number) => (Math.floor(sinceMs / 2_000) % 2 === 0 ? { a: 20, b: 0 } : { a: 0, b: 20 });
    expect(during(10 * SHARE_PERIOD_MS, turns)).toEqual({});
  });

  it('only workers that announce the same are compared, and none that takes no more', () => {
    announced.set(holderId('b'), { ...SAME, serves: ['1 b'] });
    announced.set(holderId('c'), { ...SAME, build: 'app:2' });
    announced.set(holderId('d'), { ...SAME, concurrency: 5 });
    expect(during(LONG_MS, () => ({ a: 20, b: 0, c: 0, d: 0 }))).toEqual({});
    const draining = view({ a: 20, e: 0 });
    announced.delete(holderId('e'));
    for (let at = 0; at < 50; at++, nowMs += VIEW_MS) expect(shares.seen(draining, nowMs)).toEqual(new Map());
  });

  it('nobody is asked by what a view that is not trusted shows', () => {
    during(SHARE_PERIOD_MS, () => ({ a: 20, b: 0 }));
    expect(shares.seen(view({ a: 20, b: 0 }, false), nowMs)).toEqual(new Map());
    expect(during(SHARE_PERIOD_MS, () => ({ a: 20, b: 0 }))).toEqual({});
  });

  it('a worker gives up so many at once, and no more', () => {
    expect(during(LONG_MS, () => ({ a: 900, b: 0 }))).toEqual({ a: 800 });
  });

  it('what is asked in vain is asked ever less often', () => {
    let count = 0;
    for (const untilMs = nowMs + 600_000; nowMs < untilMs; nowMs += VIEW_MS)
      count += shares.seen(view({ a: 20, b: 0 }), nowMs).size;
    expect(count).toBeLessThan(9);
    // Also where what is given up comes back.
    count = 0;
    let backMs = nowMs;
    for (const untilMs = nowMs + 600_000; nowMs < untilMs; nowMs += VIEW_MS) {
      const asked = shares.seen(view({ a: nowMs < backMs ? 10 : 20, c: 0 }), nowMs).size;
      if (asked > 0) backMs = nowMs + SHARE_PERIOD_MS / 2;
      count += asked;
    }
    expect(count).toBeLessThan(9);
    // The control: it is asked in each period where it helps.
    let had = 0;
    count = 0;
    for (const untilMs = nowMs + 600_000; nowMs < untilMs; nowMs += VIEW_MS) {
      const asked = shares.seen(view({ a: 900, b: Math.min(had, 700) }), nowMs).size;
      count += asked;
      had += asked;
    }
    expect(count).toBeGreaterThan(50);
  });
});

describe('a new worker', () => {
  const PARTITIONS = 64;
  const STEP_MS = 1_000;
  const STEPS = 40;
  const RUNS = 30;
  const never = new AbortController().signal;
  let world: SimulatedWorld;
  const workers: Worker[] = [];

  beforeEach(async () => {
    workers.length = 0;
    world = new SimulatedWorld(new SimulatedLog(PARTITIONS), PARTITIONS);
    await world.coordinator.start();
  });

  afterEach(() => world.close());

  let attempts = 0;
  const ticking = definitionOf({
    name: 'ticking',
    steps: {
      a: async (_context, at) => {
        attempts++;
        await world.ports.clock.sleep(STEP_MS, never);
        const step = (at as number | null) ?? 1;
        return step === STEPS ? { done: 'end' } : { next: [{ step: 'a', input: step + 1 }] };
      },
    },
  });
  const startWorker = async (): Promise<void> => {
    workers.push(await world.worker([ticking]));
  };
  const counts = (): readonly number[] => workers.map(({ uncheckpointed }) => uncheckpointed.workflowCount);
  const startRuns = async (): Promise<readonly WorkflowId[]> => {
    const runs = Array.from({ length: RUNS }, (_, at) => world.start(ticking, null, { id: `r${at}` }));
    const ids = await Promise.all(runs);
    await world.ports.clock.runUntil(() => counts().reduce((sum, count) => sum + count, 0) === RUNS, 5_000);
    return ids;
  };

  it('gets a share of what runs, between two steps, once, and no step runs twice', async () => {
    attempts = 0;
    await startWorker();
    const runs = await startRuns();
    await startWorker();
    await startWorker();
    const tookMs = await world.ports.clock.runUntil(() => counts().every((count) => count === RUNS / 3), 30_000);
    expect(tookMs).toBeLessThanOrEqual(2 * SHARE_PERIOD_MS + 2 * STEP_MS);
    for (let at = 0; at < 10; at++) {
      await world.ports.clock.run(STEP_MS);
      expect(Math.max(...counts()) - Math.min(...counts())).toBeLessThanOrEqual(2);
    }
    await world.ports.clock.runUntil(() => runs.every((run) => world.status(run) === 'completed'), 120_000);
    expect(attempts).toBe(RUNS * STEPS);
    expect(world.errors).toEqual([]);
  });

  it('is given nothing for which a long step, or what runs beside it, would wait', async () => {
    let ticks = 0;
    const busy = definitionOf({
      name: 'busy',
      next: [
        { step: 'long', input: null },
        { step: 'tick', input: null },
      ],
      steps: {
        long: () => world.ports.clock.sleep(300_000, never).then(() => ({ next: [] })),
        tick: async () => {
          await world.ports.clock.sleep(STEP_MS, never);
          ticks++;
          return { next: [{ step: 'tick', input: null }] };
        },
      },
    });
    workers.push(await world.worker([busy]));
    for (let at = 0; at < 10; at++) await world.start(busy, null, { id: `b${at}` });
    await world.ports.clock.run(2 * STEP_MS);
    workers.push(await world.worker([busy]));
    const before = ticks;
    await world.ports.clock.run(60_000);
    expect(counts()).toEqual([10, 0]);
    expect(ticks - before).toBeGreaterThan(10 * 55);
  });

  it('takes new runs again once it has given others up, however often it was asked', async () => {
    await startWorker();
    await startRuns();
    const [first] = workers as [Worker];
    const { liveness } = world.ports;
    liveness.share(first.holder, 20);
    liveness.share(first.holder, 5);
    await startWorker();
    await world.ports.clock.run(4 * STEP_MS);
    expect(counts()).toEqual([20, 10]);
    liveness.share = () => {};
    await workers[1]!.stop(0);
    await world.ports.clock.run(4 * STEP_MS);
    expect(counts()).toEqual([RUNS, 0]);
  });

  it('is told apart from one that drains, which gets none', async () => {
    await startWorker();
    await startRuns();
    await startWorker();
    const [first, second] = workers as [Worker, Worker];
    const stopped = first.stop(30_000);
    await world.ports.clock.run(2 * VIEW_MS);
    // Its runs are in the middle of their steps.
    expect(counts()).toEqual([RUNS, 0]);
    expect([...world.ports.liveness.announced.keys()]).toEqual([second.holder]);
    await world.ports.clock.run(2 * STEP_MS);
    await stopped;
    expect(counts()).toEqual([0, RUNS]);
  });

  it('gets none where nobody is asked (the control)', async () => {
    world.ports.liveness.share = () => {};
    await startWorker();
    await startRuns();
    await startWorker();
    await world.ports.clock.run(20_000);
    expect(counts()).toEqual([RUNS, 0]);
  });
});
