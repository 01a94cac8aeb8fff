/** Owns the tests of functions that misuse what they are given, and of what they are given wrongly. */

import { decodePayload, type Payloads } from '@tidemark/codec';
import type { Sequence } from '@tidemark/core';
import { defineEffect, defineFunction, done, notDone, type WorkflowId } from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

let world: TestWorld;
afterEach(() => world?.close());

const plain = { version: 1, input: z.object({}), output: z.json() };
const waits = (run: string, count: number) =>
  expect
    .poll(async () => (await world.tasksOf(run as WorkflowId)).filter(({ when }) => when.length > 0).length, {
      timeout: 20_000,
    })
    .toBe(count);

async function warningsOf(run: string, from: number): Promise<readonly string[]> {
  const rows = await world.ports.store.checkpoints(run as WorkflowId, { from: from as Sequence, limit: 20 });
  return rows.flatMap(({ payload }) => {
    const { log = [] } = decodePayload('CheckpointCommitted', payload) as Payloads['CheckpointCommitted'] & object;
    return log.flatMap(({ detail }) => (detail as { readonly result?: string } | undefined)?.result ?? []);
  });
}

describe('a function', () => {
  it('that never awaits ends with what it returns', async () => {
    const still = defineFunction({ ...plain, name: 'still', run: async () => 1 });
    world = await testWorld({ workflows: [still] });
    expect(await (await world.start(still, {})).result()).toBe(1);
  });

  it('that throws no error fails with what it threw', async () => {
    const odd = defineFunction({
      ...plain,
      name: 'odd',
      async run(ctx) {
        await ctx.run('one', () => 1);
        throw 'a text';
      },
    });
    world = await testWorld({ workflows: [odd] });
    await expect((await world.start(odd, {})).result()).rejects.toThrow('The function threw a text');
  });

  it('that waits twice for one signal gets the first and the second', async () => {
    const twice = defineFunction({
      ...plain,
      name: 'twice',
      signals: { go: z.int() },
      run: (ctx) => ctx.all([() => ctx.signal('go'), () => ctx.signal('go')]),
    });
    world = await testWorld({ workflows: [twice] });
    const run = await world.start(twice, {});
    await waits(run.id, 2);
    await world.client.signal(run.id, 'go', 1);
    await world.client.signal(run.id, 'go', 2);
    expect(await run.result()).toEqual([1, 2]);
  });

  it('is given no signal of another shape: a person discards it', async () => {
    const shaped = defineFunction({
      ...plain,
      name: 'shaped',
      signals: { go: z.object({ by: z.string() }) },
      retry: { attempts: 1 },
      run: async (ctx) => (await ctx.signal('go')).by,
    });
    world = await testWorld({ workflows: [shaped] });
    const run = await world.start(shaped, {});
    await waits(run.id, 1);
    await world.client.signal(run.id, 'go', { by: 7 });
    await expect(run.result()).rejects.toThrow(/waits for a person.*by: /s);
  });

  it('makes 10,000 calls in all, each once and in its place', async () => {
    const made = new Map<number, number>();
    const many = defineFunction({
      ...plain,
      name: 'many',
      async run(ctx) {
        const results = await ctx.all(
          Array.from(
            { length: 10_000 },
            (_, n) => () =>
              ctx.run('one', () => {
                made.set(n, (made.get(n) ?? 0) + 1);
                return n;
              }),
          ),
        );
        return results.every((result, n) => result === n);
      },
    });
    world = await testWorld({ workflows: [many] });
    expect(await (await world.start(many, {})).result()).toBe(true);
    expect([...made.values()].every((count) => count === 1)).toBe(true);
    expect(made.size).toBe(10_000);
  }, 120_000);

  it('that loops for ever is warned, and asks a person where its budget of checkpoints ends', async () => {
    const endless = defineFunction({
      ...plain,
      name: 'endless',
      stepBudget: 1_100,
      async run(ctx) {
        for (;;) await ctx.run('again', () => null);
      },
    });
    world = await testWorld({ workflows: [endless] });
    const run = await world.start(endless, {});
    await expect(run.result()).rejects.toThrow('step-budget');
    expect(await warningsOf(run.id, 995)).toEqual([expect.stringContaining('await ctx.chapter(state)')]);
  });

  it('whose request has the time in it gets what was recorded, with a warning that names the line', async () => {
    let now = 1;
    const echo = defineEffect({
      operation: 'echo',
      kind: 'idempotent',
      onChanged: 'send-recorded',
      request: z.object({ at: z.int() }),
      response: z.int(),
      call: async ({ at }) => at,
    });
    const timed = defineFunction({
      ...plain,
      name: 'timed',
      signals: { go: z.json() },
      effects: [echo],
      async run(ctx) {
        const at = await ctx.effect(echo, { at: now });
        await ctx.signal('go');
        return at;
      },
    });
    world = await testWorld({ workflows: [timed] });
    const run = await world.start(timed, {});
    await waits(run.id, 1);
    now = 2;
    await world.client.signal(run.id, 'go', null);
    expect(await run.result()).toBe(1);
    expect(await warningsOf(run.id, 1)).toEqual([
      expect.stringMatching(/echo asks for something else .* at libs\/testkit\/src\/function-inputs\.test\.ts:\d+/),
    ]);
  });

  it('gives each member of all its own outcome, in whatever order they call', async () => {
    let isLate = false;
    const members = defineFunction({
      ...plain,
      name: 'members',
      signals: { go: z.json() },
      effects: [],
      async run(ctx) {
        const saved = await ctx.all(
          ['a', 'b'].map((item, at) => async () => {
            const pauses = isLate ? 20 - 20 * at : 20 * at;
            await new Promise((resolve) => setTimeout(resolve, pauses));
            const request = { item };
            const outcome = ctx.run('save', () => `${item}: ${request.item}`);
            request.item = 'changed';
            return [item, await outcome];
          }),
        );
        await ctx.signal('go');
        return saved;
      },
    });
    world = await testWorld({ workflows: [members] });
    const run = await world.start(members, {});
    await waits(run.id, 1);
    isLate = true;
    await world.client.signal(run.id, 'go', null);
    expect(await run.result()).toEqual([
      ['a', 'a: changed'],
      ['b', 'b: changed'],
    ]);
  });

  it('sends the request that it had when it asked', async () => {
    const sent: unknown[] = [];
    const put = defineEffect({
      operation: 'put',
      kind: 'idempotent',
      request: z.object({ what: z.int() }),
      response: z.json(),
      call: async ({ what }) => {
        sent.push(what);
        return null;
      },
    });
    const changing = defineFunction({
      ...plain,
      name: 'changing',
      effects: [put],
      async run(ctx) {
        const request = { what: 0 };
        const calls = [];
        for (request.what = 0; request.what < 3; request.what++) calls.push(ctx.effect(put, request));
        await Promise.all(calls);
        return null;
      },
    });
    world = await testWorld({ workflows: [changing] });
    await (await world.start(changing, {})).result();
    expect(sent.toSorted()).toEqual([0, 1, 2]);
  });

  it('calls an effect once, although a crash changes what it asks for beside it', async () => {
    const keys = new Set<string>();
    const pay = defineEffect({
      operation: 'pay',
      kind: 'irreversible',
      request: z.object({}),
      response: z.json(),
      call: async (_, { key }) => {
        keys.add(key);
        return null;
      },
      probe: async (key) => (keys.has(key) ? done(null) : notDone()),
    });
    let isCached = false;
    const paying = defineFunction({
      ...plain,
      name: 'paying',
      effects: [pay],
      run: (ctx) =>
        ctx.all([
          () => ctx.effect(pay, {}),
          async () => {
            if (!isCached) await new Promise((resolve) => setTimeout(resolve, 20));
            isCached = true;
            return ctx.run('note', () => null);
          },
        ]),
    });
    world = await testWorld({ workflows: [paying] });
    world.crash({ after: 'EffectResolved', operation: 'pay' });
    await (await world.start(paying, {})).result();
    expect(world.crashCount).toBe(1);
    expect(keys.size).toBe(1);
  });

  it('is given results of its own: what it does to them is not recorded', async () => {
    const queueing = defineFunction({
      ...plain,
      name: 'queueing',
      signals: { go: z.json() },
      async run(ctx) {
        const queue = await ctx.run('queue', () => [1, 2, 3]);
        let total = 0;
        while (queue.length > 0) {
          const next = queue.shift()!;
          total += await ctx.run('add', () => next);
        }
        await ctx.signal('go');
        return total;
      },
    });
    world = await testWorld({ workflows: [queueing] });
    const run = await world.start(queueing, {});
    await waits(run.id, 1);
    await world.client.signal(run.id, 'go', null);
    expect(await run.result()).toBe(6);
  });

  it('may return although a member of all has failed, and refuses chance within a closure', async () => {
    const partial = defineFunction({
      ...plain,
      name: 'partial',
      retry: { attempts: 1 },
      async run(ctx) {
        try {
          await ctx.all([
            () => ctx.run('bad', () => Promise.reject(new Error('bad'))),
            () => ctx.run('slow', () => new Promise((resolve) => setTimeout(resolve, 60_000))),
          ]);
        } catch (error) {
          return (error as Error).message;
        }
        return null;
      },
    });
    const drawing = defineFunction({
      ...plain,
      name: 'drawing',
      retry: { attempts: 1 },
      run: (ctx) => ctx.run('draw', () => ctx.uuid()),
    });
    world = await testWorld({ workflows: [partial, drawing] });
    expect(await (await world.start(partial, {})).result()).toContain('bad');
    await expect((await world.start(drawing, {})).result()).rejects.toThrow('within the closure of call draw');
  });

  it('is given what the policy on secrets stores', async () => {
    const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
    const lengths: number[] = [];
    const masked = defineFunction({
      ...plain,
      name: 'masked',
      onSecret: 'mask',
      signals: { go: z.json() },
      async run(ctx) {
        const text = await ctx.run('read', () => `the key is ${token}`);
        lengths.push(text.length);
        await ctx.signal('go');
        return null;
      },
    });
    world = await testWorld({ workflows: [masked] });
    const run = await world.start(masked, {});
    await waits(run.id, 1);
    await world.client.signal(run.id, 'go', null);
    await run.result();
    expect(new Set(lengths).size).toBe(1);
  });

  it('says which result is no JSON, by its path', async () => {
    const wrong = defineFunction({
      ...plain,
      name: 'wrong',
      retry: { attempts: 1 },
      run: async (ctx) => (await ctx.run('order', () => ({ lines: [{ cents: 1n }] }))) as never,
    });
    world = await testWorld({ workflows: [wrong] });
    await expect((await world.start(wrong, {})).result()).rejects.toThrow('result of call order at lines[0].cents');
  });

  it('that calls after its end is told to await', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const early = defineFunction({
      ...plain,
      name: 'early',
      async run(ctx) {
        late = (async () => {
          await new Promise((resolve) => setTimeout(resolve, 10));
          await ctx.run('late', () => 1);
        })();
        late.catch(() => {});
        return null;
      },
    });
    world = await testWorld({ workflows: [early] });
    await (await world.start(early, {})).result();
    await expect(late).rejects.toThrow('await every call before it returns');
  });
});
