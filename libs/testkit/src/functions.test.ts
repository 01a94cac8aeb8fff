import { CallFailedError, defineEffect, defineFunction, done, NotDoneError, notDone, type TaskId } from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

let world: TestWorld;
afterEach(() => world.close());

/** What the receiver has done, by key. */
const charged = new Map<string, number>();
const charge = defineEffect({
  operation: 'charge',
  kind: 'irreversible',
  request: z.object({ cents: z.int() }),
  response: z.object({ id: z.string() }),
  call: async ({ cents }, { key }) => {
    charged.set(key, (charged.get(key) ?? 0) + cents);
    return { id: `c${cents}` };
  },
  probe: async (key, { request }) => (charged.has(key) ? done({ id: `c${request.cents}` }) : notDone()),
  probeFences: true,
});
const fragile = defineEffect({
  operation: 'fragile',
  kind: 'idempotent',
  request: z.object({}),
  response: z.json(),
  retry: { attempts: 2, firstDelayMs: 1 },
  call: async () => Promise.reject(new NotDoneError('it broke')),
});

const order = defineFunction({
  name: 'order',
  version: 1,
  input: z.object({ items: z.array(z.int()) }),
  output: z.object({ ids: z.array(z.string()), total: z.int(), who: z.string() }),
  signals: { go: z.object({ by: z.string() }) },
  effects: [charge],
  async run(ctx, { items }) {
    const total = await ctx.run('total', () => items.reduce((sum, one) => sum + one, 0));
    const made = await ctx.all(items.map((cents) => () => ctx.effect(charge, { cents })));
    const first = await ctx.race({ go: ctx.signal('go'), late: ctx.sleep('2d') });
    return { ids: made.map(({ id }) => id), total, who: first.name === 'go' ? first.value.by : 'late' };
  },
});

const waitsFor = async (run: string, kind: string): Promise<TaskId> => {
  const find = async () => (await world.tasksOf(run as never)).find(({ when }) => when.some((one) => one.kind === kind))?.id;
  await expect.poll(find).toBeDefined();
  return (await find())!;
};

describe('a function', () => {
  it('runs, waits and ends', async () => {
    world = await testWorld({ workflows: [order] });
    const run = await world.start(order, { items: [1, 2, 3] });
    await world.client.signal(run.id, 'go', { by: 'ann' });
    expect(await run.result()).toEqual({ ids: ['c1', 'c2', 'c3'], total: 6, who: 'ann' });
    expect(world.calls(charge)).toHaveLength(3);
  });

  it('takes the time-out where it comes first', async () => {
    world = await testWorld({ workflows: [order] });
    const run = await world.start(order, { items: [1] });
    await waitsFor(run.id, 'timer');
    world.advance('3d');
    expect(await run.result()).toMatchObject({ who: 'late' });
  });

  it.each(['CheckpointCommitted', 'EffectIntended', 'EffectResolved', 'call'] as const)(
    'is called anew after crashes after %s, and repeats nothing',
    async (after) => {
      charged.clear();
      world = await testWorld({ workflows: [order] });
      for (let n = 0; n < 3; n++) world.crash({ after });
      const run = await world.start(order, { items: [1, 2, 3] });
      await world.client.signal(run.id, 'go', { by: 'ann' });
      expect(await world.fastForward(run.result())).toEqual({ ids: ['c1', 'c2', 'c3'], total: 6, who: 'ann' });
      expect([...charged.values()].sort()).toEqual([1, 2, 3]);
    },
  );

  it('catches what failed for good, and goes on in finally', async () => {
    const careful = defineFunction({
      name: 'careful',
      version: 1,
      input: z.object({}),
      output: z.object({ said: z.string(), cleaned: z.boolean() }),
      async run(ctx) {
        let cleaned = false;
        let said = '';
        try {
          await ctx.effect(fragile, {});
        } catch (error) {
          said = error instanceof CallFailedError ? error.message : 'other';
        } finally {
          cleaned = await ctx.run('clean', () => true);
        }
        return { said, cleaned };
      },
    });
    world = await testWorld({ workflows: [careful] });
    const run = await world.start(careful, {});
    expect(await world.fastForward(run.result())).toEqual({ said: 'fragile: it broke', cleaned: true });
    expect(world.calls(fragile)).toHaveLength(2);
  });

  it('starts children, asks people, and awaits what nobody records', async () => {
    const child = defineFunction({
      name: 'child',
      version: 1,
      input: z.object({ n: z.int() }),
      output: z.int(),
      run: async (ctx, { n }) => (await ctx.run('double', () => n * 2)) + 1,
    });
    const parent = defineFunction({
      name: 'parent',
      version: 1,
      input: z.object({}),
      output: z.object({ sum: z.int(), note: z.string().nullable(), ids: z.array(z.string()) }),
      approvals: { credit: z.object({ note: z.string() }) },
      children: [child],
      async run(ctx) {
        const ids = [ctx.uuid(), String(ctx.random())];
        await new Promise((resolve) => setTimeout(resolve, 20));
        const parts = await ctx.all([1, 2, 3].map((n) => () => ctx.child(child, { n })));
        const answer = await ctx.approval('credit', { title: 'Credit?' });
        await new Promise((resolve) => setTimeout(resolve, 20));
        await ctx.run('after', () => null);
        return { sum: parts.reduce((a, b) => a + b, 0), note: answer.approved ? answer.value.note : null, ids };
      },
    });
    world = await testWorld({ workflows: [parent, child] });
    world.crash({ after: 'CheckpointCommitted', step: 'call' });
    const run = await world.start(parent, {});
    const task = await waitsFor(run.id, 'approval');
    await world.client.approve(run.id, task, { approved: true, by: 'ana', value: { note: 'fine' } });
    expect(await run.result()).toMatchObject({ sum: 15, note: 'fine' });
  });
});
