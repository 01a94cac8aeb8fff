import type { Sequence } from '@tidemark/core';
import {
  CallFailedError,
  defineEffect,
  defineFunction,
  done,
  type FunctionContext,
  NotDoneError,
  notDone,
  type TaskId,
  type WorkflowId,
} from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { crashEverywhere } from './crash-everywhere.ts';
import { type TestWorld, testWorld } from './test-world.ts';

let world: TestWorld;
afterEach(() => world?.close());

/** What the receiver has done, by key. */
const charged = new Map<string, number>();
const charge = defineEffect({
  operation: 'charge',
  kind: 'irreversible',
  request: z.object({ cents: z.int(), note: z.string().optional() }),
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
  const find = async () =>
    (await world.tasksOf(run as never)).find(({ when }) => when.some((one) => one.kind === kind))?.id;
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

  it("has the world's time", async () => {
    const dated = defineFunction({
      name: 'dated',
      version: 1,
      input: z.object({}),
      output: z.number(),
      async run(ctx) {
        const before = ctx.now().getTime();
        await ctx.sleep('2d');
        return ctx.now().getTime() - before;
      },
    });
    world = await testWorld({ workflows: [dated] });
    const run = await world.start(dated, {});
    await waitsFor(run.id, 'timer');
    world.advance('3d');
    expect(await run.result()).toBeGreaterThan(2 * 86_400_000);
  });

  it('takes the time-out where it comes first', async () => {
    world = await testWorld({ workflows: [order] });
    const run = await world.start(order, { items: [1] });
    await waitsFor(run.id, 'timer');
    world.advance('3d');
    expect(await run.result()).toMatchObject({ who: 'late' });
  });

  it('survives a crash at every boundary, and repeats nothing', async () => {
    const { outcome, boundaries } = await crashEverywhere({ workflows: [order] }, async (each) => {
      charged.clear();
      const run = await each.start(order, { items: [1, 2] }, { id: 'o' });
      await each.client.signal('o', 'go', { by: 'ann' });
      return { result: await run.result(), charged: [...charged.values()].sort() };
    });
    expect(outcome).toEqual({ result: { ids: ['c1', 'c2'], total: 3, who: 'ann' }, charged: [1, 2] });
    expect(boundaries).toBeGreaterThan(15);
  });

  it('that a crash changes is found', async () => {
    let lives = 0;
    const forgetful = defineFunction({
      name: 'forgetful',
      version: 1,
      input: z.object({}),
      output: z.int(),
      async run(ctx) {
        const life = ++lives;
        await ctx.run('wait', () => null);
        return life;
      },
    });
    const scenario = async (each: TestWorld) => {
      lives = 0;
      return (await each.start(forgetful, {})).result();
    };
    await expect(crashEverywhere({ workflows: [forgetful] }, scenario)).rejects.toThrow(
      /1 without one; boundary \d+: 2/,
    );
  });

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

  it('throws the same failure after a crash', async () => {
    const stubborn = defineFunction({
      name: 'stubborn',
      version: 1,
      input: z.object({}),
      output: z.string(),
      effects: [fragile],
      async run(ctx) {
        const said = await ctx.effect(fragile, {}).catch((error: CallFailedError) => `${error.code}: ${error.message}`);
        await ctx.run('note', () => null);
        return `${said}`;
      },
    });
    world = await testWorld({ workflows: [stubborn] });
    world.crash({ after: 'CheckpointCommitted', step: 'fragile' });
    const run = await world.start(stubborn, {});
    expect(await world.fastForward(run.result())).toBe('effect-not-done: fragile: it broke');
    expect(world.crashCount).toBe(1);
    expect(world.calls(fragile)).toHaveLength(2);
  });

  it('continues in a fork with what its chapter has recorded', async () => {
    const drawing = defineFunction({
      name: 'drawing',
      version: 1,
      input: z.object({}),
      output: z.object({ drawn: z.number(), state: z.json() }),
      effects: [charge],
      async run(ctx) {
        const drawn = ctx.random();
        await ctx.effect(charge, { cents: ctx.state === null ? 1 : 2 });
        await ctx.run('look', () => null);
        return ctx.state === null ? ctx.chapter({ drawn }) : { drawn, state: ctx.state };
      },
    });
    world = await testWorld({ workflows: [drawing] });
    const base = await (await world.start(drawing, {}, { id: 'base' })).result();
    const forked = async (at: number) => {
      const { workflow } = await world.client.fork('base', { at, effects: 'replay', by: 'ann' });
      return world.client.run(workflow).result();
    };
    expect(await forked(4)).toEqual(base);
    for (const at of [1, 3]) {
      world.crash({ after: 'CheckpointCommitted', step: 'run' });
      expect(await forked(at)).toEqual({ ...base, drawn: expect.any(Number) });
    }
    expect(world.crashCount).toBe(2);
    expect(world.calls(charge)).toHaveLength(2);
  });

  it('is observed where it runs elsewhere, with calls of any name', async () => {
    world = await testWorld({ workflows: [order] });
    await world.client.shadows.promote('order', { to: 100, by: 'ops' });
    const run = world.client.shadow(order as never, { id: 'seen', input: { items: [1] } });
    run.step({ key: '1', step: 'total', output: 1, next: [{ step: 'charge it' }] });
    run.step({ key: '2', step: 'charge it', output: { id: 'c1' } });
    run.done({ ids: ['c1'], total: 1, who: 'late' });
    expect(await run.flushed()).toBe(true);
    const page = { from: 1 as Sequence, limit: 9 };
    const seen = () => world.ports.store.checkpoints('seen' as WorkflowId, page);
    await expect.poll(async () => (await seen()).map(({ step }) => step)).toEqual(['total', 'charge it', '~report']);
    for (const { payload } of await seen()) expect(payload).toContain('"misfit":null');
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
    world.crash({ after: 'CheckpointCommitted', step: 'credit' });
    const run = await world.start(parent, {});
    const task = await waitsFor(run.id, 'approval');
    await world.client.approve(run.id, task, { approved: true, by: 'ana', value: { note: 'fine' } });
    expect(await run.result()).toMatchObject({ sum: 15, note: 'fine' });
  });

  it('is told of a call that it did not await, and of one within a closure', async () => {
    const plain = { version: 1, input: z.object({}), output: z.json() };
    const hasty = defineFunction({
      ...plain,
      name: 'hasty',
      async run(ctx) {
        void ctx.run('slow', () => new Promise((resolve) => setTimeout(resolve, 50)));
        return null;
      },
    });
    const nested = defineFunction({
      ...plain,
      name: 'nested',
      run: (ctx) =>
        ctx.run('outer', () => {
          void ctx.run('inner', () => 1);
          return 2;
        }),
    });
    world = await testWorld({ workflows: [hasty, nested] });
    const hurried = await world.start(hasty, {});
    await expect(hurried.result()).rejects.toThrow('slow. Await each of them');
    const within = await world.start(nested, {});
    await expect(within.result()).rejects.toThrow('within the closure of call outer');
  });

  it('records who lost a race of calls before it ends', async () => {
    const racing = defineFunction({
      name: 'racing',
      version: 1,
      input: z.object({}),
      output: z.string(),
      effects: [charge],
      async run(ctx) {
        const first = await ctx.race({
          quick: () => ctx.run('quick', () => 1),
          late: () => ctx.effect(charge, { cents: 7 }),
          never: ctx.sleep('9d'),
        });
        return first.name;
      },
    });
    charged.clear();
    world = await testWorld({ workflows: [racing] });
    world.stub(charge, async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { id: 'c7' };
    });
    const run = await world.start(racing, {});
    expect(await run.result()).toBe('quick');
    expect(world.calls(charge)).toHaveLength(1);
  });

  const file = defineEffect({
    operation: 'file',
    kind: 'idempotent',
    request: z.object({ n: z.int() }),
    response: z.json(),
    call: async () => null,
  });
  type Ctx = FunctionContext<Record<never, never>, Record<never, never>>;
  const first = (ctx: Ctx) => ctx.run('first', () => 1);
  const second = (ctx: Ctx, n = 1) => ctx.effect(file, { n });
  const third = (ctx: Ctx) => ctx.run('third', () => 3);
  const go = (ctx: Ctx) => Promise.resolve(ctx.signal('go' as never));

  it.each<readonly [string, ReadonlyArray<(ctx: Ctx) => Promise<unknown>>, string]>([
    [
      'a call was added',
      [first, (ctx) => ctx.run('more', () => 0), second, third, go],
      'asked for file before, and now it asks for more',
    ],
    ['a call was removed', [first, third, go], 'asked for file before, and now it asks for third'],
    [
      'a call was renamed',
      [(ctx) => ctx.run('one', () => 1), second, third, go],
      'asked for first before, and now it asks for one',
    ],
    ['two calls were swapped', [first, third, second, go], 'asked for file before, and now it asks for third'],
    ['a request was changed', [first, (ctx) => second(ctx, 2), third, go], 'asks for something else in file'],
    ['the last call was removed', [first, second, go], 'asked for third before, and now it asks for go'],
    [
      'a wait was renamed',
      [first, second, third, (ctx) => Promise.resolve(ctx.signal('stop' as never))],
      'asked for go before, and now it asks for stop',
    ],
  ])('whose code changed under a live run asks a person: %s', async (_, changed, message) => {
    let calls: ReadonlyArray<(ctx: Ctx) => Promise<unknown>> = [first, second, third, go];
    const moving = defineFunction({
      name: 'moving',
      version: 1,
      input: z.object({}),
      output: z.null(),
      signals: { go: z.json(), stop: z.json() },
      async run(ctx) {
        for (const call of calls) await call(ctx as never);
        return null;
      },
    });
    world = await testWorld({ workflows: [moving] });
    const run = await world.start(moving, {});
    await waitsFor(run.id, 'signal');
    const whole = calls;
    calls = changed;
    await world.client.signal(run.id, 'go', 1);
    await expect(world.fastForward(run.result())).rejects.toThrow(message);
    calls = whole;
    await world.client.decide(run.id, { resolution: 'retry', by: 'ann', why: 'it is as it was' });
    expect(await run.result()).toBeNull();
    expect(world.calls(file)).toHaveLength(1);
  });

  it('begins anew with each chapter, and is given nothing of the one before', async () => {
    let callCount = 0;
    const long = defineFunction({
      name: 'long',
      version: 1,
      input: z.object({}),
      output: z.array(z.int()),
      async run(ctx) {
        callCount += 1;
        const sums = [...((ctx.state ?? []) as number[])];
        if (sums.length === 3) return sums;
        const one = await ctx.run('one', () => 1);
        const two = await ctx.run('two', () => sums.length);
        return ctx.chapter([...sums, one + two]);
      },
    });
    world = await testWorld({ workflows: [long] });
    for (let n = 0; n < 3; n++) world.crash({ after: 'CheckpointCommitted' });
    const run = await world.start(long, {});
    expect(await run.result()).toEqual([1, 2, 3]);
    expect(callCount).toBeGreaterThan(4);
  });

  it('knows which version of a change it has met', async () => {
    let isChanged = false;
    const versioned = defineFunction({
      name: 'versioned',
      version: 1,
      input: z.object({}),
      output: z.array(z.string()),
      signals: { go: z.json() },
      async run(ctx) {
        const path: string[] = [];
        if (isChanged && ctx.version('check', 2) === 2) path.push(await ctx.run('check', () => 'checked'));
        path.push(await ctx.run('old', () => 'old'));
        await ctx.signal('go');
        if (isChanged && ctx.version('late', 2) === 2) path.push(await ctx.run('late', () => 'late'));
        return path;
      },
    });
    world = await testWorld({ workflows: [versioned] });
    const before = await world.start(versioned, {});
    await waitsFor(before.id, 'signal');
    isChanged = true;
    const after = await world.start(versioned, {});
    await waitsFor(after.id, 'signal');
    for (const { id } of [before, after]) await world.client.signal(id, 'go', 1);
    expect(await before.result()).toEqual(['old', 'late']);
    expect(await after.result()).toEqual(['checked', 'old', 'late']);
  });

  it('is called anew where an outcome could not be recorded', async () => {
    let size = 2_000_000;
    const large = defineFunction({
      name: 'large',
      version: 1,
      input: z.object({}),
      output: z.int(),
      async run(ctx) {
        const one = await ctx.run('one', () => 1);
        const text = await ctx.run('text', () => 'x'.repeat(size));
        return one + text.length;
      },
    });
    world = await testWorld({ workflows: [large] });
    const run = await world.start(large, {});
    await expect(run.result()).rejects.toThrow('waits for a person');
    size = 1;
    await world.client.decide(run.id, { resolution: 'retry', by: 'ann', why: 'it is small now' });
    expect(await run.result()).toBe(2);
  });

  it('has the same time, chance and versions at every crash, and others in the next chapter', async () => {
    const notes: string[] = [];
    const winding = defineFunction({
      name: 'winding',
      version: 1,
      input: z.object({}),
      output: z.int(),
      effects: [charge],
      async run(ctx) {
        const version = ctx.version('change', 2);
        const now = ctx.now().getTime();
        const note = () => `${ctx.uuid()} ${ctx.random()} ${now} ${version}`;
        await ctx.all([1, 2].map((cents) => () => ctx.effect(charge, { cents, note: note() })));
        return ctx.state === null ? ctx.chapter('second') : version;
      },
    });
    const { outcome } = await crashEverywhere({ workflows: [winding] }, async (each) => {
      charged.clear();
      const version = await (await each.start(winding, {})).result();
      notes.push(...each.calls(charge).map(({ request }) => (request as { note: string }).note));
      return { version, charged: [...charged.values()].sort() };
    });
    expect(outcome).toEqual({ version: 2, charged: [1, 1, 2, 2] });
    expect(new Set(notes.slice(0, 4)).size).toBe(4);
  });

  it('has the same time and chance in its first call, also where a crash comes before any checkpoint', async () => {
    const noting = defineFunction({
      name: 'noting',
      version: 1,
      input: z.object({}),
      output: z.null(),
      effects: [charge],
      async run(ctx) {
        await ctx.effect(charge, { cents: 3, note: `${ctx.uuid()} ${ctx.now().getTime()}` });
        return null;
      },
    });
    const { outcome } = await crashEverywhere({ workflows: [noting] }, async (each) => {
      charged.clear();
      return { result: await (await each.start(noting, {})).result(), charged: [...charged.values()] };
    });
    expect(outcome).toEqual({ result: null, charged: [3] });
  });

  it('is resumed although it awaited what nobody records before its calls', async () => {
    const slow = () => new Promise((resolve) => setTimeout(resolve, 20));
    const waiting = defineFunction({
      name: 'waiting',
      version: 1,
      input: z.object({}),
      output: z.int(),
      signals: { go: z.int() },
      async run(ctx) {
        await slow();
        const one = await ctx.run('one', () => 1);
        await slow();
        return one + (await ctx.signal('go'));
      },
    });
    world = await testWorld({ workflows: [waiting] });
    const run = await world.start(waiting, {});
    await waitsFor(run.id, 'signal');
    await world.client.signal(run.id, 'go', 2);
    expect(await run.result()).toBe(3);
  });
});
