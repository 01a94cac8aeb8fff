/** Whoever wakes a run sends its job: a worker resumes it before rows show what woke it, and at once where rows were behind when it was found. */

import type { WorkflowId } from '@tidemark/core';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { REDISPATCH_PERIOD_MS } from '../coordinator/limits.ts';

const W = 'w' as WorkflowId;
const PARTITIONS = 2;

let world: SimulatedWorld;
let gate: PromiseWithResolvers<void>;
let prepared: PromiseWithResolvers<void>;
let isWoken: boolean;

beforeEach(async () => {
  world = new SimulatedWorld(new SimulatedLog(PARTITIONS), PARTITIONS);
  [isWoken, prepared, gate] = [false, Promise.withResolvers(), Promise.withResolvers()];
  gate.resolve();
  const { store } = world.ports;
  const apply = store.apply.bind(store);
  store.apply = async (batch) => {
    await gate.promise;
    return apply(batch);
  };
  await world.coordinator.start();
  await world.worker([sleeper]);
  await world.start(sleeper);
});
afterEach(async () => {
  gate.resolve();
  await world.close();
});

const sleeper = definitionOf({
  steps: {
    prepare: async () => {
      await prepared.promise;
      return { next: [{ step: 'woken', input: null, when: { anyOf: [{ kind: 'signal', name: 'go' }] } }] };
    },
    woken: () => {
      isWoken = true;
      return { done: null };
    },
  },
});

const row = () => world.ports.store.rows.get(W)?.stream;
const holdRows = (): void => {
  gate = Promise.withResolvers();
};

it('resumes while rows show that it sleeps, by one job', async () => {
  prepared.resolve();
  await world.ports.clock.runUntil(() => row()?.sequence === 1 && row()?.holder === null, 60_000);
  holdRows();
  const sent = world.ports.queue.enqueued.length;
  const signalled = world.client.signal(W, 'go');
  await world.ports.clock.run(REDISPATCH_PERIOD_MS / 2);
  expect(isWoken).toBe(true);
  expect(row()).toMatchObject({ sequence: 1, runnable: false });
  gate.resolve();
  await world.until(W, 'completed');
  await signalled;
  expect(world.ports.queue.enqueued.slice(sent)).toHaveLength(1);
});

it('resumes as soon as rows show the work where they still showed a lease when it was found', async () => {
  await world.ports.clock.runUntil(() => row()?.holder !== null && row()?.holder !== undefined, 60_000);
  holdRows();
  prepared.resolve();
  // It falls asleep in the log alone.
  await world.ports.clock.run(1_000);
  const signalled = world.client.signal(W, 'go');
  await world.ports.clock.run(100);
  expect(isWoken).toBe(false);
  gate.resolve();
  await world.ports.clock.run(REDISPATCH_PERIOD_MS / 2);
  expect(isWoken).toBe(true);
  await world.until(W, 'completed');
  await signalled;
});
