/**
 * Calls of one step that overlap: at a second attempt in which they arrive in another order, each gets its own recorded outcome, or is
 * refused with the remedy; never another call's. And sequential code of many shapes is not refused.
 */

import { EventEmitter } from 'node:events';
import { defineEffect, defineWorkflow, type StepActions, task } from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const FILES = ['a.txt', 'b.txt', 'c.txt'];

/** A call to the outside that the journal doesn't know: in even attempts the last one that was begun ends first. */
type Stat = (at: number) => Promise<void>;
const statOf =
  ({ attempt }: StepActions): Stat =>
  async (at) => {
    const turns = attempt % 2 === 1 ? at : FILES.length - at;
    for (let turn = 0; turn < 1 + 8 * turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  };

const textOf = (file: string): string => `content of ${file}`;
const read = (ctx: StepActions, file: string, name?: string): Promise<string> =>
  ctx.run('read', () => textOf(file), name === undefined ? {} : { name });

const fetched = defineEffect({
  operation: 'pages.fetch',
  kind: 'idempotent',
  request: z.object({ file: z.string() }),
  response: z.string(),
  call: async ({ file }) => textOf(file),
});

const drawn = defineEffect({
  operation: 'pages.look',
  kind: 'pure',
  request: z.object({ file: z.string() }),
  response: z.string(),
  call: async ({ file }) => textOf(file),
});

/** Each returns what it got for each of the files. */
type Shape = (ctx: StepActions, stat: Stat) => Promise<readonly string[]>;

const each = <T>(body: (file: string, at: number) => Promise<T>): Promise<T[]> => Promise.all(FILES.map(body));

async function inOrder(body: (file: string, at: number) => Promise<string>): Promise<string[]> {
  const texts: string[] = [];
  for (const [at, file] of FILES.entries()) texts.push(await body(file, at));
  return texts;
}

/** Their order is given by the code, or what they ask tells them apart. */
const ORDERED: Readonly<Record<string, Shape>> = {
  'a loop': (ctx) => inOrder((file) => read(ctx, file)),
  'a loop that awaits something else before each call': async (ctx, stat) => {
    const texts: string[] = [];
    for (const [at, file] of FILES.entries()) {
      await stat(at);
      texts.push(await read(ctx, file));
    }
    return texts;
  },
  'calls begun in one breath': (ctx) => each((file) => read(ctx, file)),
  'calls begun in one breath, in async callbacks': (ctx) => each(async (file) => await read(ctx, file)),
  'calls begun in one breath after something else was awaited': async (ctx, stat) => {
    await stat(1);
    return each((file) => read(ctx, file));
  },
  'begun in one breath and awaited later': async (ctx, stat) => {
    const begun = FILES.map((file) => read(ctx, file));
    await stat(0);
    return [await begun[0]!, await begun[1]!, await begun[2]!];
  },
  'a helper in a loop that calls at once': (ctx) => inOrder(async (file) => (await read(ctx, file)).trim()),
  'a helper in a loop that awaits another call before': (ctx) =>
    inOrder(async (file) => {
      const page = await ctx.effect(fetched, { file });
      return ctx.run('parse', () => page);
    }),
  'overlapping helpers that await another call before': async (ctx, stat) =>
    each(async (file, at) => {
      const page = await ctx.effect(fetched, { file });
      await stat(at);
      return ctx.run('parse', () => page);
    }),
  'overlapping helpers that await a closure and then another': async (ctx, stat) =>
    each(async (file, at) => {
      const text = await read(ctx, file);
      await stat(at);
      return ctx.run('parse', () => text);
    }),
  'a retry in a catch': async (ctx) => {
    const texts: string[] = [];
    for (let tries = 0; texts.length < FILES.length; tries++) {
      try {
        texts.push(
          await ctx.run('read', () => {
            if (tries % 2 === 0) throw new Error('not yet');
            return textOf(FILES[texts.length]!);
          }),
        );
      } catch {
        // The next round tries it again.
      }
    }
    return texts;
  },
  'a for await over an async generator': async (ctx, stat) => {
    async function* files() {
      for (const [at, file] of FILES.entries()) {
        await stat(at);
        yield file;
      }
    }
    const texts: string[] = [];
    for await (const file of files()) texts.push(await read(ctx, file));
    return texts;
  },
  'calls in an async generator': async (ctx) => {
    async function* pages() {
      for (const file of FILES) yield await read(ctx, file);
    }
    const texts: string[] = [];
    for await (const text of pages()) texts.push(text);
    return texts;
  },
  'a chain of then': (ctx) => {
    const [a, b, c] = FILES as [string, string, string];
    return read(ctx, a).then((first) =>
      read(ctx, b).then((second) => read(ctx, c).then((third) => [first, second, third])),
    );
  },
  'callbacks of forEach': async (ctx) => {
    const begun: Promise<string>[] = [];
    FILES.forEach((file) => {
      begun.push(read(ctx, file));
    });
    return Promise.all(begun);
  },
  'an emitter whose listeners run in one breath': async (ctx) => {
    const begun: Promise<string>[] = [];
    const emitter = new EventEmitter().on('file', (file: string) => begun.push(read(ctx, file)));
    for (const file of FILES) emitter.emit('file', file);
    return Promise.all(begun);
  },
  'a closure in a closure, and one of its name after it': async (ctx) => {
    const [a, b, c] = FILES as [string, string, string];
    const first = await ctx.run('outer', () => read(ctx, a));
    return [first, await read(ctx, b), await read(ctx, c)];
  },
  recursion: (ctx) => {
    const from = async (at: number): Promise<string[]> =>
      at === FILES.length ? [] : [await read(ctx, FILES[at]!), ...(await from(at + 1))];
    return from(0);
  },
  'a timer in between': (ctx) =>
    inOrder(async (file) => {
      const text = await read(ctx, file);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return text;
    }),
  'closures of different names, begun after something else': (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      return ctx.run(`read ${file}`, () => textOf(file));
    }),
  'closures with names': (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      return read(ctx, file, file);
    }),
  'names that are numbers, beside closures without': async (ctx, stat) => {
    const named = each(async (file, at) => {
      await stat(at);
      return read(ctx, file, String(at));
    });
    const others = await each((file) => read(ctx, `other ${file}`));
    expect(others).toEqual(FILES.map((file) => textOf(`other ${file}`)));
    return named;
  },
  effects: (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      return ctx.effect(fetched, { file });
    }),
  'pure effects': (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      return ctx.effect(drawn, { file });
    }),
  models: (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      return (await ctx.model({ prompt: file })).text;
    }),
  'models that differ by a placeholder alone': (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      return (await ctx.model({ bundle: 'all', placeholders: { file } })).text;
    }),
  'models whose answers are asked for again': (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      const { object } = await ctx.model({ prompt: `json ${file}`, schema: z.object({ text: z.string() }) });
      return object.text;
    }),
};

/** Nothing in the code says which is the first. */
const UNORDERED: Readonly<Record<string, Shape>> = {
  'calls after something else that was awaited at once': (ctx, stat) =>
    each(async (file, at) => {
      await stat(at);
      return read(ctx, file);
    }),
  'those, when the step catches all errors': async (ctx, stat) => {
    const settled = await Promise.allSettled(
      FILES.map(async (file, at) => {
        await stat(at);
        return read(ctx, file);
      }),
    );
    return settled.map((one) => (one.status === 'fulfilled' ? one.value : ''));
  },
  'a second of one name in each branch': (ctx, stat) =>
    each(async (file, at) => {
      await read(ctx, `head of ${file}`);
      await stat(at);
      return read(ctx, file);
    }),
  'two lanes that share a queue': async (ctx, stat) => {
    const [queue, texts] = [[...FILES], [] as string[]];
    const lane = async (at: number): Promise<void> => {
      for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
        await stat(at);
        texts.push(await read(ctx, file));
      }
    };
    await Promise.all([lane(0), lane(1)]);
    return texts.sort();
  },
  'listeners of timers': (ctx) =>
    each(
      (file) => new Promise<string>((resolve, reject) => setTimeout(() => read(ctx, file).then(resolve, reject), 1)),
    ),
  // On the safe side: these have an order that can't be seen.
  'a helper in a loop that awaits something else before': (ctx, stat) =>
    inOrder(async (file, at) => {
      await stat(at);
      return read(ctx, file);
    }),
  'a helper in a loop that calls twice': (ctx) =>
    inOrder(async (file) => {
      await read(ctx, `head of ${file}`);
      return read(ctx, file);
    }),
  'a reduce of promises': (ctx) =>
    FILES.reduce<Promise<string[]>>(
      async (before, file) => [...(await before), await read(ctx, file)],
      Promise.resolve([]),
    ),
  'an async generator that awaits something else before': async (ctx, stat) => {
    async function* pages() {
      for (const [at, file] of FILES.entries()) {
        await stat(at);
        yield await read(ctx, file);
      }
    }
    const texts: string[] = [];
    for await (const text of pages()) texts.push(text);
    return texts;
  },
};

const SHAPES = { ...ORDERED, ...UNORDERED };

const model = testModel(({ messages }) => {
  const said = JSON.stringify(messages);
  const file = FILES.find((one) => said.includes(one))!;
  if (!said.includes('json ')) return textOf(file);
  return said.includes('Answer again') ? JSON.stringify({ text: textOf(file) }) : 'no JSON';
});

/** Every first attempt fails once all is recorded. */
const reader = defineWorkflow({
  name: 'reader',
  version: 1,
  input: z.object({ shape: z.string() }),
  belief: z.object({}),
  output: z.object({ texts: z.array(z.string()) }),
  tasks: { one: z.object({}) },
  flow: { one: [] },
  models: { default: model },
  bundles: { all: { budgetTokens: 4_000 } },
  retry: { attempts: 5, firstDelayMs: 0, factor: 1 },
  begin: () => ({
    belief: {},
    next: [task('one', {})],
    fragments: [{ type: 'task_goal' as const, text: 'Read {{file}}.' }],
  }),
  steps: {
    async one(ctx) {
      const texts = await SHAPES[ctx.input.shape]!(ctx, statOf(ctx));
      if (ctx.attempt === 1) throw new Error('the first attempt fails');
      return { done: { texts: [...texts] } };
    },
  },
});

const paid = defineEffect({
  operation: 'payments.pay',
  kind: 'idempotent',
  request: z.object({ file: z.string() }),
  response: z.string(),
  call: async ({ file }) => textOf(file),
});

/** Pays for two files at once; each time the step begins, the other one arrives first. */
const payer = defineWorkflow({
  name: 'payer',
  version: 1,
  input: z.object({ changes: z.boolean() }),
  belief: z.object({}),
  output: z.object({ texts: z.array(z.string()) }),
  tasks: { one: z.object({}) },
  flow: { one: [] },
  begin: () => ({ belief: {}, next: [task('one', {})] }),
  steps: {
    async one(ctx) {
      const begun = begunCount++;
      const files = ctx.input.changes ? [`file ${begun}`] : FILES.slice(0, 2);
      const stat = statOf({ attempt: begun + 1 } as StepActions);
      const texts = await Promise.all(
        files.map(async (file, at) => {
          await stat(at);
          return ctx.effect(paid, { file });
        }),
      );
      return { done: { texts } };
    },
  },
});
let begunCount = 0;

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [reader, payer] });
});
afterAll(() => world.close());

it.each(Object.keys(ORDERED))('each call gets its own outcome at a second attempt: %s', async (shape) => {
  const run = await world.start(reader, { shape });
  expect(await run.result()).toEqual({ texts: FILES.map(textOf) });
});

describe('what has no order that the code gives is refused, and stays so', () => {
  it.each(Object.keys(UNORDERED))('%s', async (shape) => {
    const run = await world.start(reader, { shape });
    await expect.poll(async () => (await run.summary())?.status).toBe('parked');
    const { reason } = (await run.summary())!;
    expect(reason).toBe('calls-unordered');
  });
});

describe('a worker dies when the first of two calls is intended, and the other one arrives first at its successor', () => {
  it.each(['EffectIntended', 'EffectResolved'] as const)(
    'each is made once, under one key: after %s',
    async (after) => {
      begunCount = 0;
      const before = world.calls(paid).length;
      world.crash({ after, operation: paid.operation });
      const run = await world.start(payer, { changes: false });
      expect(await run.result()).toEqual({ texts: FILES.slice(0, 2).map(textOf) });
      const calls = world.calls(paid).slice(before);
      expect(calls.map(({ request }) => (request as { file: string }).file).sort()).toEqual(FILES.slice(0, 2));
      expect(new Set(calls.map(({ key }) => key)).size).toBe(2);
    },
  );

  it('what nothing asks for again is a changed request, and nothing is paid beside it', async () => {
    begunCount = 0;
    const before = world.calls(paid).length;
    world.crash({ after: 'EffectResolved', operation: paid.operation });
    const run = await world.start(payer, { changes: true });
    await world.fastForward(run.result().catch(() => {}));
    expect((await run.summary())?.reason).toBe('request-changed');
    expect(world.calls(paid).length - before).toBe(1);
  });
});
