/**
 * The checkpoints that an undo has compensated: those of which everything was compensated, at every moment of the undo, and however long it
 * is.
 */

import { type Sequence, undoId, type WorkflowId } from '@tidemark/core';
import type { CheckpointRow, ProjectionStore } from '@tidemark/ports';
import { definitionOf, effectOf, NO_RETRY } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition, EffectDefinition } from '../definition/definition.ts';
import { ParkError } from '../definition/step-errors.ts';
import { compensatedCheckpoints } from './compensated-checkpoints.ts';

const PARTITIONS = 4;
const W = 'w' as WorkflowId;
const UNDO = undoId(W);

let world: SimulatedWorld;
beforeEach(async () => {
  world = new SimulatedWorld(new SimulatedLog(PARTITIONS), PARTITIONS);
  await world.coordinator.start();
});
afterEach(() => world.close());

/** Each step calls the effects of its place; then a person is asked. */
const walk = (effects: readonly EffectDefinition[], plan: readonly (readonly number[])[]): Definition =>
  definitionOf({
    effects,
    steps: {
      go: async (ctx, input) => {
        const at = Number(input ?? 0);
        if (at === plan.length) throw new ParkError('enough', 'Shall it go on?', null, {});
        for (const one of plan[at]!) await ctx.effect(effects[one]!, { at });
        return { output: { at }, next: [{ step: 'go', input: at + 1 }] };
      },
    },
  });

const booking = (operation: string, spec: Partial<EffectDefinition> = {}): EffectDefinition =>
  effectOf({
    ...{ operation, kind: 'idempotent', retry: NO_RETRY },
    call: async (request) => request,
    compensate: async () => {},
    ...spec,
  });

async function inTime<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  await world.ports.clock.runUntil(() => isSettled, 60_000);
  return settled;
}

async function compensating(definition: Definition): Promise<void> {
  await world.worker([definition]);
  await world.start(definition);
  await world.until(W, 'parked', 600_000);
  await inTime(world.client.decide('w', { resolution: 'compensate', by: 'Ada', why: 'it is off' }));
}

/** Reads of checkpoints that the answer took. */
let readCount = 0;

async function compensated(from = 1, limit = 1_000): Promise<readonly Sequence[] | undefined> {
  const { store } = world.ports;
  const row = (await store.workflow(W))!;
  const page: readonly CheckpointRow[] = await store.checkpoints(W, { from: from as Sequence, limit });
  const effects = await store.effectListings(W, { tasks: page.flatMap(({ task }) => task ?? []) });
  readCount = 0;
  const counted: Pick<ProjectionStore, 'workflow' | 'checkpoints'> = {
    workflow: (id) => store.workflow(id),
    checkpoints: (...of) => {
      readCount++;
      return store.checkpoints(...of);
    },
  };
  const found = await compensatedCheckpoints(counted, row, page, effects);
  return found && [...found];
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('checkpoints of a workflow that is compensated', () => {
  it('are compensated when all that there was to undo of each is compensated', async () => {
    const [flight, hotel] = [booking('flight'), booking('hotel')];
    const mail = booking('mail', { compensate: undefined });
    const look = booking('look', { kind: 'pure', compensate: undefined });
    await compensating(walk([flight, hotel, mail, look], [[0, 1], [2], [0, 2], [3], [3, 1], []]));
    await world.until(W, 'compensated');
    // Checkpoints of effects that stay done, or that only read or did nothing, stay committed.
    expect(await compensated()).toEqual([1, 5]);
  });

  it('are so one after the other, newest first, also while the undo waits and once it has failed', async () => {
    const stuck = booking('hotel', {
      compensate: async () => {
        throw new Error('the desk is shut');
      },
    });
    await compensating(walk([booking('flight'), stuck], [[0], [1], [0], [0]]));
    await world.until(UNDO, 'parked');
    expect(await compensated()).toEqual([3, 4]);
    await inTime(world.client.decide(UNDO, { resolution: 'fail', by: 'Ada', why: 'too late' }));
    await world.until(W, 'failed');
    expect(await compensated()).toEqual([3, 4]);
  });

  it('of a step with an undo of its own, when that was called', async () => {
    const definition = walk([booking('flight')], [[], [0]]);
    const go = { ...definition.steps.get('go')!, compensate: async () => {} };
    await compensating({ ...definition, steps: new Map([['go', go]]) });
    await world.until(W, 'compensated');
    expect(await compensated()).toEqual([1, 2]);
  });

  it('are found among hundreds, page by page, without going through all that was compensated', async () => {
    let isShut = true;
    const flight = booking('flight', {
      compensate: async (response) => {
        if ((response as { at: number }).at === 100 && isShut) throw new Error('the desk is shut');
      },
    });
    const plan = Array.from({ length: 900 }, () => [0]);
    await compensating(walk([flight], plan));
    await world.until(UNDO, 'parked', 600_000);
    expect(await compensated()).toEqual(range(102, 900));
    expect(await compensated(95, 20)).toEqual(range(102, 114));
    expect(readCount).toBeLessThanOrEqual(12);
    isShut = false;
    await inTime(world.client.decide(UNDO, { resolution: 'retry', by: 'Ada', why: 'it is open' }));
    await world.until(W, 'compensated', 600_000);
    for (const [from, limit] of [
      [1, 3],
      [400, 7],
      [698, 10],
      [899, 5],
    ] as const) {
      expect(await compensated(from, limit)).toEqual(range(from, Math.min(900, from + limit - 1)));
      expect(readCount).toBeLessThanOrEqual(12);
    }
  });

  it('are none while nothing is compensated, and nothing is read for it', async () => {
    const definition = walk([booking('flight')], [[0]]);
    await world.worker([definition]);
    await world.start(definition);
    await world.until(W, 'parked');
    expect(await compensated()).toEqual([]);
    expect(readCount).toBe(0);
  });
});
