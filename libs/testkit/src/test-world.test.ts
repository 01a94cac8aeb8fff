import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const credit = defineEffect({
  operation: 'payments.credit',
  kind: 'idempotent',
  request: z.object({ cents: z.int() }),
  response: z.object({ creditId: z.string() }),
  call: async () => {
    throw new Error('the real service must not be called in a test');
  },
});

const refund = defineWorkflow({
  name: 'refund',
  version: 1,
  input: z.object({ cents: z.int() }),
  belief: z.object({ seen: z.array(z.string()) }),
  output: z.object({ creditId: z.string(), seen: z.array(z.string()) }),
  tasks: { price: z.object({}), pay: z.object({ cents: z.int() }) },
  flow: { price: ['pay'], pay: [] },
  begin: () => ({ belief: { seen: [] }, next: [task('price', {})] }),
  steps: {
    async price(ctx) {
      const { cents } = ctx.input;
      return { belief: (b) => ({ seen: [...b.seen, 'price'] }), next: [task('pay', { cents })] };
    },
    async pay(ctx, { cents }) {
      const { creditId } = await ctx.effect(credit, { cents });
      const seen = [...ctx.belief.seen, 'pay'];
      return { belief: () => ({ seen }), done: { creditId, seen } };
    },
  },
});

const fails = defineWorkflow({
  name: 'fails',
  version: 1,
  input: z.object({ times: z.int() }),
  belief: z.object({}),
  output: z.object({ attempt: z.int() }),
  tasks: { one: z.object({}) },
  flow: { one: [] },
  retry: { attempts: 3, firstDelayMs: 3_600_000, factor: 1 },
  begin: () => ({ belief: {}, next: [task('one', {})] }),
  steps: {
    async one(ctx) {
      if (ctx.attempt <= ctx.input.times) throw new Error(`attempt ${ctx.attempt}`);
      return { done: { attempt: ctx.attempt } };
    },
  },
});

const sum = defineWorkflow({
  name: 'sum',
  version: 1,
  parallel: 4,
  input: z.object({ count: z.int() }),
  belief: z.object({ total: z.int() }),
  output: z.object({ total: z.int(), outputs: z.array(z.int()) }),
  tasks: { begin: z.object({}), add: z.object({ n: z.int() }), join: z.object({}) },
  outputs: { add: z.int() },
  flow: { begin: ['add', 'join'], add: [], join: [] },
  begin: () => ({ belief: { total: 0 }, next: [task('begin', {})] }),
  steps: {
    async begin(ctx) {
      const adds = Array.from({ length: ctx.input.count }, (_, n) => task('add', { n }));
      return { next: [...adds, task('join', {}, { after: 'all' })] };
    },
    async add(_ctx, { n }) {
      return { belief: (b) => ({ total: b.total + n }), output: n };
    },
    async join(ctx) {
      return { done: { total: ctx.belief.total, outputs: [...(await ctx.outputs('add'))] } };
    },
  },
});

describe('testWorld', () => {
  let world: TestWorld;
  afterEach(() => world.close());

  it('runs a workflow to its output', async () => {
    world = await testWorld({ workflows: [refund] });
    world.stub(credit, async () => ({ creditId: 'c1' }));
    const run = await world.start(refund, { cents: 5 });
    expect(await run.result()).toEqual({ creditId: 'c1', seen: ['price', 'pay'] });
    expect(world.calls(credit)).toHaveLength(1);
  });

  it.each([
    { before: 'CheckpointCommitted', step: 'price' },
    { after: 'CheckpointCommitted', step: 'price' },
    { before: 'EffectIntended' },
    { before: 'EffectResolved' },
    { after: 'EffectResolved' },
    { before: 'CheckpointCommitted', step: 'pay' },
    { after: 'CheckpointCommitted', step: 'pay' },
    { after: 'LeaseClaimed' },
  ] as const)('gives the same output when the worker dies: %j', async (point) => {
    world = await testWorld({ workflows: [refund] });
    world.stub(credit, async () => ({ creditId: 'c1' }));
    world.crash(point);
    const run = await world.start(refund, { cents: 5 });
    expect(await run.result()).toEqual({ creditId: 'c1', seen: ['price', 'pay'] });
    expect(world.crashCount).toBe(1);
    // An effect without a recorded outcome is called again, with the same key; a recorded one never is.
    const keys = new Set(world.calls(credit).map((call) => call.key));
    expect(keys.size).toBe(1);
    expect(world.calls(credit)).toHaveLength('before' in point && point.before === 'EffectResolved' ? 2 : 1);
  });

  it('leaves nothing that would hold its process, also of a worker that died in a call', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    world = await testWorld({ workflows: [refund] });
    world.stub(credit, async () => ({ creditId: 'c1' }));
    world.crash({ after: 'call', operation: 'payments.credit' });
    const run = await world.start(refund, { cents: 5 });
    await run.result();
    await world.close();
    // That call had 30 s.
    await eventually(() => timers() <= before);
  });

  it('tries a failed step again when its time has come, and not before', async () => {
    world = await testWorld({ workflows: [fails] });
    const run = await world.start(fails, { times: 1 });
    await expect.poll(async () => (await run.summary())?.pendingCount).toBe(1);
    await expect.poll(async () => (await world.tasksOf(run.id))[0]?.failureCount).toBe(1);
    expect((await run.summary())?.status).toBe('open');
    world.advance('1h');
    expect(await run.result()).toEqual({ attempt: 2 });
  });

  it('asks a person, with the error, after the last attempt', async () => {
    world = await testWorld({ workflows: [{ ...fails, steps: new Map(fails.steps) }] });
    const run = await world.start(fails, { times: 9 });
    for (const failureCount of [1, 2]) {
      await expect.poll(async () => (await world.tasksOf(run.id))[0]?.failureCount).toBe(failureCount);
      world.advance('1h');
    }
    await expect(run.result()).rejects.toMatchObject({
      code: 'workflow-parked',
      message: expect.stringMatching(/step-failed\): Step one failed at attempt 3: attempt 3\. Fix it/),
    });
    // Once it is fixed, nothing is lost: the task has all its attempts again.
    await world.client.decide(run.id, { resolution: 'retry', by: 'ana', why: 'mended' });
    await expect.poll(async () => (await world.tasksOf(run.id))[0]?.failureCount).toBe(1);
  });

  it('joins a fan-out once all of it is done, with outputs in the order of creation', async () => {
    world = await testWorld({ workflows: [sum] });
    world.crash({ after: 'CheckpointCommitted', step: 'add' });
    const run = await world.start(sum, { count: 50 });
    const outputs = Array.from({ length: 50 }, (_, n) => n);
    expect(await run.result()).toEqual({ total: 1225, outputs });
  });

  it('answers the same run for the same id', async () => {
    world = await testWorld({ workflows: [sum] });
    const first = await world.start(sum, { count: 1 }, { id: 'one' });
    const second = await world.start(sum, { count: 9 }, { id: 'one' });
    expect([first.created, second.created]).toEqual([true, false]);
    expect(await second.result()).toEqual({ total: 0, outputs: [0] });
  });
});
