/**
 * Programs that decide by which call ended first: a second attempt, and a fork that replays, learn outcomes in the order in which they were
 * recorded, so no call is given what another one recorded.
 */

import { defineEffect, defineWorkflow, type StepActions, task } from '@tidemark/sdk';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

const FILES = ['a', 'b', 'c', 'd'];
type Got = [string, string][];
type Shape = (ctx: StepActions) => Promise<Got>;

const textOf = (file: string): string => `content of ${file}`;
/** `b` ends first, `a` last. */
const read = async (file: string): Promise<string> => {
  for (let turn = file === 'a' ? 40 : file === 'b' ? 5 : 10; turn > 0; turn--) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  return textOf(file);
};
const fetched = defineEffect({
  operation: 'pages.fetch',
  kind: 'idempotent',
  request: z.object({ file: z.string() }),
  response: z.string(),
  call: ({ file }) => read(file),
});

let failures = 0;
beforeEach(() => {
  failures = 0;
});
/** Fails the first time that it is called in a test. */
const flaky = (file: string): string => {
  if (failures++ === 0) throw new Error('flaky');
  return textOf(file);
};

const SHAPES: Readonly<Record<string, Shape>> = {
  'lanes that share a queue': async (ctx) => {
    const queue = [...FILES];
    const got: Got = [];
    const lane = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const file = next;
        const head = await ctx.run('head', () => read(file));
        got.push([file, await ctx.run('body', () => head)]);
      }
    };
    await Promise.all([lane(), lane()]);
    return got;
  },
  'named closures, joined as they end': async (ctx) => {
    const ended: Got = [];
    await Promise.all(
      FILES.map(async (file) => ended.push([file, await ctx.run('read', () => read(file), { name: file })])),
    );
    const got: Got = [];
    for (const [file, text] of ended) got.push([file, await ctx.run('copy', () => text)]);
    return got;
  },
  'effects, joined as they end': async (ctx) => {
    const ended: Got = [];
    await Promise.all(FILES.map(async (file) => ended.push([file, await ctx.effect(fetched, { file })])));
    const got: Got = [];
    for (const [file, text] of ended) got.push([file, await ctx.run('copy', () => text)]);
    return got;
  },
  'a race': async (ctx) => {
    const race = FILES.map(async (file): Promise<[string, string]> => [file, await ctx.effect(fetched, { file })]);
    const [file, text] = await Promise.race(race);
    return [[file, await ctx.run('copy', () => text)]];
  },
  'a closure that is tried again, and succeeds at once later': async (ctx) => {
    const got: Got = [];
    for (const file of FILES) {
      for (let tries = 0; tries < 3 && got.at(-1)?.[0] !== file; tries++) {
        await ctx
          .run('read', () => flaky(file))
          .then(
            (text) => got.push([file, text]),
            () => {},
          );
      }
      if (file === 'a' && ctx.attempt === 1) throw new Error('the attempt ends here');
    }
    return got;
  },
};

const reader = defineWorkflow({
  ...{ name: 'reader', version: 1, input: z.object({ shape: z.string() }), belief: z.object({}) },
  ...{ output: z.object({ got: z.array(z.array(z.string())) }), tasks: { one: z.object({}) }, flow: { one: [] } },
  retry: { attempts: 5, firstDelayMs: 0, factor: 1 },
  begin: () => ({ belief: {}, next: [task('one', {})] }),
  steps: {
    async one(ctx) {
      const got = await SHAPES[ctx.input.shape]!(ctx);
      if (ctx.attempt === 1) throw new Error('the first attempt fails');
      return { done: { got } };
    },
  },
});

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [reader] });
});
afterAll(() => world.close());

it.each(Object.keys(SHAPES))('%s', async (shape) => {
  const run = await world.start(reader, { shape });
  const { got } = await run.result();
  expect(got).toEqual(got.map(([file]) => [file, textOf(file!)]));
});

it('a name that two closures have is refused: the second would get the result of the first', async () => {
  const same = defineWorkflow({
    ...{ name: 'same', version: 1, input: z.object({}), belief: z.object({}), output: z.object({}) },
    ...{ tasks: { one: z.object({}) }, flow: { one: [] }, retry: { attempts: 1 } },
    begin: () => ({ belief: {}, next: [task('one', {})] }),
    steps: {
      async one(ctx) {
        for (const file of FILES) await ctx.run('read', () => textOf(file), { name: 'x' });
        return { done: {} };
      },
    },
  });
  await world.close();
  world = await testWorld({ workflows: [same] });
  const run = await world.start(same, {});
  await expect(run.result()).rejects.toThrow(/another call of this step has the same name/);
});
