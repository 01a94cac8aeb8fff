/**
 * The coordinator in a whole world in memory and simulated time: whatever is lost of queue, hints or rows is restored from the log, and no
 * survivable failure ends a loop (I6).
 */

import { type Offset, type Partition, UnavailableError, type WorkflowId } from '@tidemark/core';
import { definitionOf, foldLog, RETRY_AT_ONCE, typesOf } from '@tidemark/testkit/engine/simulated-definition';
import { quiet } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StepResult } from '../definition/definition.ts';
import { POLL_REST } from '../kernel/backoff.ts';
import { SWEEP_PERIOD_MS, UNAPPENDED_AGE_MS } from './coordinator.ts';
import { REDISPATCH_PERIOD_MS, TIMER_PERIOD_MS } from './limits.ts';

const PARTITIONS = 4;

describe('a coordinator', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;
  beforeEach(() => {
    log = new SimulatedLog(PARTITIONS);
    world = new SimulatedWorld(log, PARTITIONS);
  });
  afterEach(() => world.close());

  const steps = (count: number) =>
    definitionOf({
      belief: { at: 0 },
      steps: {
        a: (context) => {
          const { at } = context.belief as { at: number };
          const belief = () => ({ at: at + 1 });
          return at + 1 < count ? { belief, next: [{ step: 'a', input: null }] } : { belief, done: at + 1 };
        },
      },
    });

  it('makes jobs of what it finds in the log at its start', async () => {
    const definition = steps(3);
    const w = await world.start(definition);
    await world.coordinator.start();
    await world.worker([definition]);
    await world.until(w, 'completed');
    expect(world.ports.store.rows.get(w)!.result).toBe('{"output":3}');
  });

  it('finds what no hint told of within the period of its sweep', async () => {
    await world.coordinator.start();
    world.ports.hints.isAway = true;
    const w = await world.start(steps(1));
    expect(await world.ports.clock.runUntil(() => world.ports.store.rows.has(w), 60_000)).toBeLessThanOrEqual(
      SWEEP_PERIOD_MS,
    );
  });

  it('makes jobs again that the queue lost', async () => {
    await world.coordinator.start();
    const enqueue = world.ports.queue.enqueue.bind(world.ports.queue);
    world.ports.queue.enqueue = async () => {};
    const w = await world.start(steps(1));
    await world.ports.clock.run(100);
    world.ports.queue.enqueue = enqueue;
    await world.worker([steps(1)]);
    expect(await world.until(w, 'completed')).toBeLessThanOrEqual(2 * REDISPATCH_PERIOD_MS);
  });

  it('rests after a long look at all that can run, so that looks take a part of its time alone', async () => {
    const { store, clock } = world.ports;
    const [pollMs, watchedMs] = [1_400, 70_000];
    const runnable = store.runnable.bind(store);
    let pollCount = 0;
    store.runnable = async (...given) => {
      pollCount++;
      await clock.sleep(pollMs);
      return runnable(...given);
    };
    await world.coordinator.start();
    await clock.run(watchedMs);
    expect(pollCount).toBeGreaterThan(1);
    expect(pollCount).toBeLessThanOrEqual(1 + watchedMs / (pollMs * (1 + POLL_REST)));
  });

  it('fires the timer of a retry when it is due', async () => {
    let attempts = 0;
    const flaky = definitionOf({
      steps: {
        a: {
          retry: { ...RETRY_AT_ONCE, firstDelayMs: 30_000 },
          run: () => {
            if (++attempts === 1) throw new Error('once');
            return { done: 1 };
          },
        },
      },
    });
    await world.coordinator.start();
    await world.worker([flaky]);
    const w = await world.start(flaky);
    await world.ports.clock.runUntil(() => attempts === 1, 1_000);
    const tookMs = await world.until(w, 'completed');
    expect(tookMs).toBeGreaterThanOrEqual(30_000);
    expect(tookMs).toBeLessThan(30_000 + 2 * TIMER_PERIOD_MS);
  });

  it('appends an opening whose starter died after it had placed it', async () => {
    await world.coordinator.start();
    await world.worker([steps(1)]);
    const append = log.append.bind(log);
    log.append = async () => {
      throw new UnavailableError('log-closed', 'the starter dies here');
    };
    const dying = world.client.start(steps(1), null as never, { id: 'w' });
    dying.catch(() => {});
    await quiet();
    expect(await typesOf(log)).toEqual([]);
    log.append = append;
    // One opening that can't be appended does not hold up the others.
    await world.ports.store.place([
      {
        workflow: 'bad' as WorkflowId,
        tenant: 't' as never,
        mode: 'exclusive',
        session: null,
        opening: '{"control":{}}',
      },
    ]);
    await world.until('w' as WorkflowId, 'completed', 2 * UNAPPENDED_AGE_MS);
  });

  it('makes rows anew from the log when they are dropped in mid-run, and the run completes', async () => {
    const gates: PromiseWithResolvers<StepResult>[] = [];
    const slow = definitionOf({
      steps: {
        a: () => {
          const gate = Promise.withResolvers<StepResult>();
          gates.push(gate);
          return gate.promise;
        },
      },
    });
    await world.coordinator.start();
    await world.worker([slow]);
    const w = await world.start(slow);
    await world.ports.clock.runUntil(() => gates.length === 1, 5_000);
    const { store } = world.ports;
    store.drop();
    let isMissing = true;
    for (const operation of ['positions', 'apply', 'loadPartitions', 'shareRanges', 'runnable', 'leases'] as const) {
      store.on(operation, () => {
        if (isMissing) throw new UnavailableError('store-missing', 'no tables');
      });
    }
    store.on('ensure', () => {
      isMissing = false;
    });
    gates[0]!.resolve({ next: [{ step: 'a', input: null }] });
    await world.ports.clock.runUntil(() => gates.length === 2, 30_000);
    gates[1]!.resolve({ done: 'kept' });
    await world.until(w, 'completed');
    expect(store.rows.get(w)!.result).toBe('{"output":"kept"}');
    expect(store.placements.get(w)).toMatchObject({ appended: true, live: false });
    const partition = store.placements.get(w)!.partition;
    expect((await foldLog(log, partition)).rejected).toEqual([]);
    // A start waits until placements are rebuilt, and is no second opening of a known id.
    const again = world.client.start(slow, null as never, { id: w });
    await world.ports.clock.run(1_000);
    expect((await again).created).toBe(false);
  });

  it('completes what another began that made the rows anew and died', async () => {
    await world.coordinator.start();
    const w = await world.start(steps(1));
    await world.ports.clock.run(1_000);
    const { store } = world.ports;
    store.drop();
    const partitions = Array.from({ length: PARTITIONS }, (_, at) => at as Partition);
    const bounds = await log.bounds(partitions);
    await store.addPartitions(
      partitions.map((partition) => ({ partition, start: 0 as Offset, rebuildTo: bounds.get(partition)!.end })),
    );
    expect(await store.ready()).toBe(false);
    await world.ports.clock.run(3 * SWEEP_PERIOD_MS);
    expect(await store.ready()).toBe(true);
    await world.worker([steps(1)]);
    await world.until(w, 'completed');
  });

  it('gives rows to partitions that the log has gained', async () => {
    await world.coordinator.start();
    await log.growTo(PARTITIONS + 3);
    // Whoever added them may be making their rows.
    await world.ports.clock.run(SWEEP_PERIOD_MS);
    expect(world.ports.store.partitions.size).toBe(PARTITIONS);
    await world.ports.clock.run(SWEEP_PERIOD_MS);
    expect(world.ports.store.partitions.size).toBe(PARTITIONS + 3);
  });

  it('gives rows to all of them at once where others lost theirs: some alone would pass for all', async () => {
    await world.coordinator.start();
    await log.growTo(PARTITIONS + 3);
    world.ports.store.drop();
    await world.ports.store.ensure();
    await world.ports.clock.run(SWEEP_PERIOD_MS);
    expect(world.ports.store.partitions.size).toBe(PARTITIONS + 3);
  });

  it('outlives everything being away for a while, and whoever is told of it failing', async () => {
    const definition = steps(5);
    const loud = new SimulatedWorld(log, PARTITIONS);
    Object.assign(loud.errors, {
      push: () => {
        throw new Error('teller');
      },
    });
    await loud.coordinator.start();
    await loud.worker([definition]);
    let isAway = true;
    const operations = [
      'shareRanges',
      'positions',
      'loadPartitions',
      'apply',
      'loadStreams',
      'runnable',
      'leases',
    ] as const;
    for (const operation of [...operations, 'dueTimers', 'unappended', 'markReady'] as const) {
      loud.ports.store.on(operation, () => {
        if (isAway) throw new UnavailableError('store-unavailable', 'away');
      });
    }
    // A start waits as well: it succeeds only once rows can show that its opening was accepted.
    const w = 'w' as WorkflowId;
    const starting = loud.start(definition, null, { id: w });
    await loud.ports.clock.run(20_000);
    expect(loud.status(w)).toBeUndefined();
    isAway = false;
    await loud.ports.clock.run(3_000);
    await starting;
    await loud.until(w, 'completed', 10_000);
    await loud.close();
  });

  it('ends a hundred workflows over few partitions, each with its own result', async () => {
    const definition = steps(4);
    await world.coordinator.start();
    await world.worker([definition]);
    await world.worker([definition]);
    const ids = await Promise.all(
      Array.from({ length: 100 }, (_, at) => world.start(definition, null, { id: `w${at}` })),
    );
    await world.ports.clock.runUntil(() => ids.every((id) => world.status(id) === 'completed'), 120_000);
    for (const id of ids) expect(world.ports.store.rows.get(id)!.result).toBe('{"output":4}');
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const { rejected } = await foldLog(log, partition as Partition);
      expect(rejected.filter((reason) => !/LeaseClaimed|LeaseReleased/.test(reason))).toEqual([]);
    }
    expect(world.errors).toEqual([]);
  });

  it('leaves no timer, listener or range behind when it stops', async () => {
    await world.coordinator.start();
    await world.ports.clock.run(1_000);
    await world.coordinator.stop();
    expect(world.ports.clock.sleeperCount).toBe(0);
    expect(world.ports.hints.listeners.appended.size).toBe(0);
    expect(world.ports.store.calls.get('releaseRanges')).toBe(1);
  });
});
