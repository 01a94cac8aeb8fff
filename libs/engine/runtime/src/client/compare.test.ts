/** Comparison of two workflows: outcome, what each took, what they share, and the first checkpoint at which step or belief differ. */

import { type WorkflowId, workflowId } from '@tidemark/core';
import { FORK_PARTITIONS, ForkWorld } from '@tidemark/testkit/engine/fork-fixture';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Definition } from '../definition/definition.ts';
import { compareWorkflows } from './compare.ts';

let world: ForkWorld;
let climb: Definition;
let base: WorkflowId;
const compare = (a: WorkflowId, b: WorkflowId) => compareWorkflows(world.ports.store, a, b);

beforeEach(async () => {
  world = new ForkWorld(new SimulatedLog(FORK_PARTITIONS));
  await world.coordinator.start();
  const rope = world.effect('rope');
  climb = definitionOf({
    name: 'climb',
    belief: { to: 3, at: 0 },
    steps: {
      async up(ctx) {
        const { to, at } = ctx.belief as { to: number; at: number };
        if (at === 1) await ctx.effect(rope, {});
        const belief = () => ({ to, at: at + 1 });
        const next = [{ step: at + 1 < to ? 'up' : 'rest', input: null }];
        return { belief, next, tokens: 10, costMicros: 5 };
      },
      rest: (ctx) => ({ done: ctx.belief }),
    },
  });
  await world.worker([climb]);
  base = await world.ended(climb);
});
afterEach(() => world.close());

it('a fork that goes the same way differs nowhere, and has what both share', async () => {
  const { workflow } = await world.fork(base, { at: 2 });
  await world.until(workflow, 'completed');
  const { workflows, isSameOutcome, firstDifference } = await compare(base, workflow);
  expect([isSameOutcome, firstDifference]).toEqual([true, null]);
  expect(workflows[0]).toMatchObject({
    workflow: 'base',
    own: { checkpointCount: 4, tokens: 30, costMicros: 15 },
    shared: { checkpointCount: 0, tokens: 0, costMicros: 0 },
    effects: { calledCount: 1, replayedCount: 0 },
    output: { to: 3, at: 3 },
  });
  expect(workflows[1]).toMatchObject({
    fork: { workflow: 'base', sequence: 2, effects: 'replay' },
    own: { checkpointCount: 2, tokens: 10, costMicros: 5 },
    shared: { checkpointCount: 2, tokens: 20, costMicros: 10 },
    effects: { calledCount: 0, replayedCount: 0 },
  });
});

it('another belief is where they differ, also between forks of forks, which are counted on alike', async () => {
  const more = { belief: { to: 5, at: 1 }, definitions: [climb] };
  const [left, right] = [await world.fork(base, { at: 1, ...more }), await world.fork(base, { at: 1 })];
  for (const { workflow } of [left, right]) await world.until(workflow, 'completed');
  const second = await world.fork(left.workflow, { at: 2 });
  await world.until(second.workflow, 'completed');
  const { workflows, isSameOutcome, firstDifference } = await compare(second.workflow, right.workflow);
  expect(isSameOutcome).toBe(false);
  expect(workflows.map(({ output }) => output)).toEqual([
    { to: 5, at: 5 },
    { to: 3, at: 3 },
  ]);
  expect(workflows[0]).toMatchObject({ shared: { checkpointCount: 3 }, own: { checkpointCount: 3 } });
  expect(firstDifference).toEqual({
    at: 1,
    points: [
      { workflow: left.workflow, sequence: 0, step: 'up', belief: { to: 5, at: 1 }, output: null },
      { workflow: right.workflow, sequence: 0, step: 'up', belief: { to: 3, at: 1 }, output: null },
    ],
  });
  // It differs nowhere from its own base.
  expect(await compare(second.workflow, left.workflow)).toMatchObject({ isSameOutcome: true, firstDifference: null });
});

it('one that has stopped ends before the other', async () => {
  const slow = definitionOf({
    name: 'climb',
    version: 2,
    steps: { up: () => new Promise(() => {}), rest: () => ({}) },
  });
  const { workflow } = await world.fork(base, { at: 2, version: 2, definitions: [{ ...slow, upcasters: same }] });
  await world.ports.clock.runUntil(() => world.status(workflow) === 'open', 5_000);
  const { firstDifference, isSameOutcome } = await compare(base, workflow);
  expect([isSameOutcome, firstDifference]).toEqual([
    false,
    { at: 3, points: [{ workflow: 'base', sequence: 3, step: 'up', belief: { to: 3, at: 3 }, output: null }, null] },
  ]);
  await expect(compare(base, workflowId('nobody'))).rejects.toMatchObject({ code: 'workflow-unknown' });
});

it('another output is where they differ, and so is another end', async () => {
  let said = 0;
  const telling = definitionOf({
    name: 'telling',
    steps: {
      first: () => ({ next: [{ step: 'tell', input: null }] }),
      tell: () => ({ output: { said: ++said }, next: [{ step: 'last', input: null }] }),
      last: () => ({ done: null }),
    },
  });
  await world.worker([telling]);
  const reported = await world.ended(telling, null, 'told');
  const { workflow } = await world.fork(reported, { at: 1, effects: 'live' });
  await world.until(workflow, 'completed');
  const { isSameOutcome, firstDifference } = await compare(reported, workflow);
  expect(isSameOutcome).toBe(true);
  expect(firstDifference).toMatchObject({
    at: 2,
    points: [
      { sequence: 2, step: 'tell', output: { said: 1 } },
      { sequence: 1, step: 'tell', output: { said: 2 } },
    ],
  });
});

const same: Definition['upcasters'] = new Map([
  [1, { belief: (belief: unknown) => belief, task: (step: string, input: unknown) => ({ step, input }) }],
]);
