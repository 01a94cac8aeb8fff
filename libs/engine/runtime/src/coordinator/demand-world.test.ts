/**
 * The demand that coordinators report in a whole world: correct under a backlog, with busy workers, after a worker's death and a flushed
 * queue, from every coordinator; and a query reads nothing.
 */

import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LamportClock } from '../kernel/ports.ts';
import { Coordinator } from './coordinator.ts';
import type { PoolDemand } from './demand.ts';
import { LEASE_POLL_PERIOD_MS } from './lease-keeper.ts';
import { DEMAND_STALE_MS, REDISPATCH_PERIOD_MS } from './limits.ts';

const PARTITIONS = 16;
const SOON_MS = 3 * (REDISPATCH_PERIOD_MS + LEASE_POLL_PERIOD_MS);

describe('the demand of a fleet', () => {
  let world: SimulatedWorld;
  let ending: PromiseWithResolvers<void>;
  let others: Coordinator[];
  beforeEach(() => {
    world = new SimulatedWorld(new SimulatedLog(PARTITIONS), PARTITIONS);
    others = [];
    ending = Promise.withResolvers();
  });
  afterEach(async () => {
    ending.resolve();
    const stopping = others.map((other) => other.stop());
    await world.close();
    await Promise.all(stopping);
  });

  /** Its one step takes until the test ends it. */
  const long = () => {
    return definitionOf({
      steps: {
        a: async () => {
          await ending.promise;
          return { done: 1 };
        },
      },
    });
  };
  const start = async (definition: ReturnType<typeof long>, count: number) => {
    const { name } = definition;
    for (let n = 0; n < count; n++) await world.start(definition, null, { id: `${name}-${n}` });
  };
  /** Of a definition that no worker has. */
  const startWaiting = (count: number) => start({ ...long(), name: 'waiting' }, count);
  const reported = (by: Coordinator = world.coordinator): readonly number[] => {
    const { inFlightCount, backlogCount, recoveryDebtCount }: PoolDemand = by.demand.of('default');
    return [inFlightCount, backlogCount, recoveryDebtCount];
  };
  const reports = (expected: readonly number[], by?: Coordinator) =>
    world.ports.clock.runUntil(() => {
      try {
        return JSON.stringify(reported(by)) === JSON.stringify(expected);
      } catch {
        return false;
      }
    }, SOON_MS);

  it('counts what waits without a worker, and what is in progress for as long as it is', async () => {
    const definition = long();
    await world.coordinator.start();
    await startWaiting(3);
    await start(definition, 2);
    await reports([0, 5, 0]);
    await world.worker([definition]);
    await reports([2, 3, 0]);
    // A worker whose step takes minutes is not idle.
    for (let at = 0; at < 20; at++) {
      await world.ports.clock.run(10_000);
      expect(reported()).toEqual([2, 3, 0]);
    }
    ending.resolve();
    await reports([0, 3, 0]);
  });

  it('counts what a dead worker had until another has it', async () => {
    const definition = long();
    await world.coordinator.start();
    await start(definition, 3);
    const worker = await world.worker([definition]);
    await reports([3, 0, 0]);
    await worker.die();
    await world.ports.clock.runUntil(() => reported()[2]! > 0, 60_000);
    expect(reported()[0]! + reported()[1]! + reported()[2]!).toBe(3);
    await reports([0, 0, 3]);
    await world.worker([definition]);
    await reports([3, 0, 0]);
  });

  it('is the same of the whole by each of two coordinators', async () => {
    const definition = long();
    await world.coordinator.start();
    const other = new Coordinator({ ports: world.ports, lamport: new LamportClock(), name: 'c2' });
    others.push(other);
    await other.start();
    await startWaiting(2);
    await start(definition, 4);
    await world.worker([definition]);
    await reports([4, 2, 0]);
    await reports([4, 2, 0], other);
    ending.resolve();
    await reports([0, 2, 0]);
    await reports([0, 2, 0], other);
  });

  it('rests on nothing in the queue or in Redis: lost jobs and hints change nothing', async () => {
    const definition = long();
    await world.coordinator.start();
    await startWaiting(3);
    await start(definition, 1);
    await world.worker([definition]);
    await reports([1, 3, 0]);
    world.ports.queue.enqueue = async () => {};
    world.ports.hints.isAway = true;
    world.ports.liveness.isTrusted = false;
    await world.ports.clock.run(60_000);
    expect(reported()).toEqual([1, 3, 0]);
  });

  it('is not told while rows can not be looked at, and asking never reads them', async () => {
    const definition = long();
    await world.coordinator.start();
    await start(definition, 2);
    await reports([0, 2, 0]);
    const { store } = world.ports;
    let readCount = 0;
    const away = async () => {
      readCount++;
      throw new Error('away');
    };
    Object.assign(store, { runnable: away, leases: away, ready: away, loadPartitions: away, counts: away });
    const before = readCount;
    for (let at = 0; at < 1_000; at++) reported();
    expect(readCount).toBe(before);
    await world.ports.clock.run(DEMAND_STALE_MS + SOON_MS);
    expect(() => reported()).toThrow(expect.objectContaining({ code: 'demand-unknown' }));
  });
});
