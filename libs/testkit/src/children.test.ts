/** Owns the tests of workflows that start others and wait for their end: in order, by the thousand, and when either ends early. */

import { child, defineEffect, defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

const worlds: TestWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
async function open(...args: Parameters<typeof testWorld>): Promise<TestWorld> {
  const world = await testWorld(...args);
  worlds.push(world);
  return world;
}

const ask = { by: 'ana', why: 'not wanted' };

const count = defineEffect({
  operation: 'count',
  kind: 'idempotent',
  request: z.object({ n: z.number() }),
  response: z.object({}),
  call: async () => ({}),
});

/** Squares a number; waits for a word where it is negative, and fails on zero. */
const square = defineWorkflow({
  name: 'square',
  version: 1,
  onFailure: 'fail',
  input: z.object({ n: z.number() }),
  belief: z.object({}),
  output: z.object({ squared: z.number() }),
  tasks: { work: z.object({}), wait: z.object({}) },
  flow: { work: ['wait'], wait: [] },
  starts: ['work'],
  signals: { go: z.object({}) },
  effects: [count],
  begin: () => ({ belief: {}, next: [task('work', {})] }),
  steps: {
    work: {
      retry: { attempts: 1 },
      run: async (ctx) => {
        const { n } = ctx.input;
        await ctx.effect(count, { n });
        if (n === 0) throw new Error('zero has no business here');
        return n < 0 ? { next: [task('wait', {}, { when: signal('go') })] } : { done: { squared: n * n } };
      },
    },
    wait: ({ input }) => ({ done: { squared: input.n ** 2 } }),
  },
});

const ends = z.object({ sum: z.number(), failed: z.array(z.string()) });

/** Sums the squares of its numbers. */
const sum = defineWorkflow({
  name: 'sum',
  version: 1,
  input: z.object({
    numbers: z.array(z.number()),
    policy: z.enum(['cancel', 'terminate', 'abandon']),
    vital: z.boolean(),
  }),
  belief: ends,
  output: ends,
  tasks: { spread: z.object({}), add: z.object({}), end: z.object({}) },
  flow: { spread: ['add', 'end'], add: [], end: [] },
  starts: ['spread'],
  children: { square },
  begin: () => ({ belief: { sum: 0, failed: [] }, next: [task('spread', {})] }),
  steps: {
    spread: ({ input }) => {
      const how = { onParentClose: input.policy, onFailure: input.vital ? 'fail' : 'tell' } as const;
      const added = input.numbers.map((n) => task('add', {}, { when: child('square', { n }, how) }));
      return { next: [...added, task('end', {}, { after: added })] };
    },
    add: ({ cause }) => {
      if (cause?.kind !== 'child') return {};
      const { workflow } = cause;
      if (cause.outcome !== 'completed')
        return { belief: (b) => ({ ...b, failed: [...b.failed, `${workflow} ${cause.reason}`] }) };
      const { squared } = cause.output;
      return { belief: (b) => ({ ...b, sum: b.sum + squared }) };
    },
    end: (ctx) => ({ done: { sum: ctx.belief.sum, failed: [...ctx.belief.failed] } }),
  },
});

const workflows = [square, sum];
const given = (numbers: readonly number[], more: object = {}) => ({
  numbers: [...numbers],
  policy: 'cancel' as const,
  vital: false,
  ...more,
});
const statusOf = async (world: TestWorld, id: string) => {
  const row = await world.client.run(id).summary();
  return row === undefined ? undefined : `${row.status} ${row.reason}`;
};

describe('a task that waits for a child', () => {
  it('goes on with what the child ended with', async () => {
    const world = await open({ workflows });
    const run = await world.start(sum, given([2, 3, 0]), { id: 's' });
    expect(await run.result()).toEqual({ sum: 13, failed: ['s~1.2 Error'] });
    expect((await world.client.run('s~1.0').summary())?.definition).toBe('square');
  });

  it('has its child once, whoever dies over it', async () => {
    const world = await open({ workflows });
    world.crash({ after: 'CheckpointCommitted', step: 'spread' });
    world.crash({ before: 'CheckpointCommitted', step: 'work' });
    world.crash({ before: 'CheckpointCommitted', step: 'add' });
    const run = await world.start(sum, given([2, 3]));
    expect(await run.result()).toEqual({ sum: 13, failed: [] });
    expect(world.crashCount).toBe(3);
    expect(new Set(world.calls(count).map(({ key }) => key)).size).toBe(2);
  });

  it('is cancelled with its workflow where the child was vital', async () => {
    const world = await open({ workflows });
    const run = await world.start(sum, given([0, -1], { vital: true }), { id: 's' });
    await expect(run.result()).rejects.toThrow('failed (child-failed)');
    await expect.poll(() => statusOf(world, 's~1.1')).toBe('failed parent-closed');
  });

  it('ends its child with its workflow, as it was said', async () => {
    const world = await open({ workflows });
    const wanted = { cancel: 'failed parent-closed', terminate: 'failed parent-closed', abandon: 'open null' };
    for (const policy of ['cancel', 'terminate', 'abandon'] as const) {
      const run = await world.start(sum, given([-1], { policy }), { id: policy });
      await expect.poll(() => statusOf(world, `${policy}~1.0`)).toBe('open null');
      await world.client.cancel(run.id, ask);
      await expect.poll(() => statusOf(world, policy)).toBe('failed cancelled');
      await expect.poll(() => statusOf(world, `${policy}~1.0`)).toBe(wanted[policy]);
    }
  });

  it("has its children listed, whose ids are nobody else's to give", async () => {
    const world = await open({ workflows });
    const run = await world.start(sum, given([2, 3]), { id: 's' });
    await run.result();
    const ids = async (query: object) => (await world.client.children('s', query)).map(({ workflow }) => workflow);
    expect(await ids({})).toEqual(['s~1.0', 's~1.1']);
    expect(await ids({ limit: 1 })).toEqual(['s~1.0']);
    expect(await ids({ after: 's~1.0' })).toEqual(['s~1.1']);
    await expect(world.start(sum, given([2]), { id: 's~1.7' })).rejects.toMatchObject({ code: 'workflow-id-reserved' });
  });

  it('is refused where its id would be too long', async () => {
    const world = await open({ workflows });
    const run = await world.start(sum, given([2]), { id: 's'.repeat(198) });
    await expect(run.result()).rejects.toThrow(/step-failed.*Give the first parent a shorter id/s);
  });

  it('is refused where the input does not fit', async () => {
    const world = await open({ workflows });
    const run = await world.start(sum, given(['x' as never]), { id: 's' }).catch((error: unknown) => error);
    expect(run).toMatchObject({ code: 'input-invalid' });
  });
});

it('waits for two hundred of them at once', { timeout: 120_000 }, async () => {
  const world = await open({ workflows });
  const numbers = Array.from({ length: 200 }, (_, n) => n + 1);
  const run = await world.start(sum, given(numbers));
  expect((await run.result()).sum).toBe(numbers.reduce((total, n) => total + n * n, 0));
});
