/** Owns the tests of functions that misuse what they are given, and of what they are given wrongly. */

import { decodePayload, type Payloads } from '@tidemark/codec';
import type { Sequence } from '@tidemark/core';
import { defineEffect, defineFunction, type WorkflowId } from '@tidemark/sdk';
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
