import type { StepContext } from '@tidemark/runtime';
import {
  defineEffect,
  defineFunction,
  defineWorkflow,
  secret,
  signal,
  task,
  type Workflow,
  type WorkflowId,
} from '@tidemark/sdk';
import { registeredDefinition, registrationOf } from '@tidemark/sdk/registered';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

let world: TestWorld;
afterEach(() => world?.close());

const charge = defineEffect({
  operation: 'charge',
  kind: 'idempotent',
  request: z.object({ cents: z.int() }),
  response: z.object({ id: z.string() }),
  call: async ({ cents }) => ({ id: `c${cents}` }),
});

const spec = {
  name: 'order',
  version: 1,
  // JSON Schema has no words for a check of its own.
  input: z.object({
    cents: z.int().min(1).default(5),
    day: z.string().refine((day) => day !== 'never', 'no such day'),
  }),
  belief: z.object({ cents: z.int(), began: z.string() }),
  output: z.object({ cents: z.int(), day: z.string(), began: z.string(), by: z.string() }),
  tasks: { pay: z.object({ cents: z.int() }), end: z.object({}) },
  signals: { go: z.object({ by: z.string() }) },
  flow: { pay: ['end'], end: [] },
  effects: [charge],
  begin: ({ cents }: { cents: number }, { day }: { day: string }) => ({
    belief: { cents, began: day },
    next: [task('pay', { cents })],
  }),
  steps: {
    async pay(ctx: StepContext, { cents }: { cents: number }) {
      await ctx.effect(charge as never, { cents });
      return { next: [task('end', {}, { when: signal('go') })] };
    },
    end: (ctx: StepContext) => {
      const { day } = ctx.input as { day: string };
      return { done: { ...(ctx.belief as object), day, by: (ctx.cause?.value as { by: string } | undefined)?.by } };
    },
  },
} as const;
const order = defineWorkflow(spec as never) as unknown as Workflow;

/** As a process has it that knows only what is registered. */
const known = async (name: string) => {
  const all = (await world.client.registrations.list()).map(registeredDefinition);
  return all.find((one) => one.name === name)!;
};

const opened = async (...workflows: readonly unknown[]): Promise<void> => {
  const definitions = workflows as readonly Workflow[];
  world = await testWorld({ workflows: definitions });
  await world.client.registrations.register(definitions.map(registrationOf));
};
const SOON = { timeoutMs: 5_000 };
const waiting = (id: string) =>
  eventually(async () => {
    const tasks = await world.tasksOf(id as WorkflowId);
    expect(tasks.map(({ step }) => step)).toEqual(['end']);
    return true;
  }, SOON);

describe('a workflow that is started by what is registered', () => {
  it('begins on a worker, whose schemas parse its input, at a later claim too', async () => {
    await opened(order);
    const registered = await known('order');
    const run = await world.client.start(registered, { day: 'today' }, { id: 'o-1' });
    await waiting('o-1');
    world.crash({ before: 'CheckpointCommitted' });
    await world.client.signal('o-1', 'go', { by: 'ana' }, { definitions: [registered] });
    expect(await run.result()).toMatchObject({ cents: 5, day: 'today', by: 'ana' });
    expect(world.crashCount).toBe(1);
  });

  it('is refused by the schemas where it is started, as where the code is', async () => {
    await opened(order);
    const registered = await known('order');
    const start = (input: unknown, of = registered) => world.client.start(of, input, { id: 'o-2' });
    for (const input of [{ day: 1 }, {}, { day: 'x', cents: 0 }]) {
      const by = await start(input).catch((error: unknown) => error);
      const code = await start(input, order as never).catch((error: unknown) => error);
      expect(by).toMatchObject({ code: 'input-invalid', message: (code as Error).message });
    }
    const misspelt = { day: 'x', cent: 1 };
    await expect(start(misspelt)).rejects.toThrow('cent: is no field (did you mean cents?)');
    await world.client.start(registered, { day: 'x' }, { id: 'o-3' });
    await waiting('o-3');
    await expect(world.client.signal('o-3', 'go', {}, { definitions: [registered] })).rejects.toMatchObject({
      code: 'signal-unfit',
    });
    await expect(world.client.signal('o-3', 'gone', {}, { definitions: [registered] })).rejects.toMatchObject({
      code: 'signal-unknown',
    });
  });

  it('fails, in the words of its own check, where only its code can tell', async () => {
    await opened(order);
    const run = await world.client.start(await known('order'), { day: 'never' }, { id: 'o-4' });
    await eventually(async () => {
      expect(await run.summary()).toMatchObject({ status: 'failed' });
      return true;
    }, SOON);
    await expect(run.result()).rejects.toThrow('no such day');
  });

  it('of an older version begins by the code of the newer one', async () => {
    const newer = defineWorkflow({
      ...spec,
      version: 2,
      input: z.object({ amount: z.int(), day: z.string() }),
      begin: ({ amount }: { amount: number }, { day }: { day: string }) => ({
        belief: { cents: amount, began: day },
        next: [task('pay', { cents: amount })],
      }),
      steps: {
        ...spec.steps,
        // In the claim that begins it.
        pay: (ctx: StepContext) => ({
          belief: (belief: object) => ({ ...belief, began: JSON.stringify(ctx.input) }),
          next: [task('end', {}, { when: signal('go') })],
        }),
      },
      upcast: { 1: { input: ({ cents, day }: { cents: number; day: string }) => ({ amount: cents * 2, day }) } },
    } as never) as unknown as Workflow;
    await opened(newer);
    await world.client.start(registeredDefinition(registrationOf(order)), { day: 'd' }, { id: 'o-7' });
    await waiting('o-7');
    await world.client.signal('o-7', 'go', { by: 'ana' });
    expect(await world.client.run('o-7').result()).toMatchObject({
      cents: 10,
      day: 'd',
      began: '{"amount":10,"day":"d"}',
    });
  });

  it('is a function as well', async () => {
    const greet = defineFunction({
      name: 'greet',
      version: 1,
      input: z.object({ name: z.string().default('you') }),
      output: z.object({ text: z.string() }),
      run: async (ctx, { name }) => ({ text: await ctx.run('text', () => `Hello ${name}.`) }),
    });
    await opened(greet);
    const run = await world.client.start(await known('greet'), {}, { id: 'g-1' });
    expect(await run.result()).toEqual({ text: 'Hello you.' });
  });

  it('is forked from before it began, and from later, with its input or another', async () => {
    await opened(order);
    const registered = await known('order');
    await world.client.start(registered, { day: 'd' }, { id: 'o-5' });
    await waiting('o-5');
    const definitions = [registered];
    for (const [at, input] of [
      [0, undefined],
      [1, undefined],
      [2, { day: 'e', cents: 7 }],
    ] as const) {
      const id = `fork-${at}`;
      await world.client.fork('o-5', {
        ...{ at, id, by: 'ana', effects: 'replay', definitions },
        ...(input && { input }),
      });
      await waiting(id);
      await world.client.signal(id, 'go', { by: 'bo' }, { definitions });
      const day = input === undefined ? 'd' : 'e';
      expect(await world.client.run(id).result()).toMatchObject({ cents: 5, day, by: 'bo' });
    }
    const belief = { cents: 1, began: '' };
    const changed = world.client.fork('o-5', { at: 1, id: 'f', by: 'ana', effects: 'replay', belief, definitions });
    await expect(changed).rejects.toMatchObject({ code: 'version-unknown' });
  });

  it('needs its code where the start depends on it, and says why', async () => {
    const { input, ...rest } = spec;
    const refused: readonly (readonly [object, string])[] = [
      [{ ...rest, input: z.object({ word: secret(z.string()) }), begin: spec.begin }, 'mark fields as secret'],
      [{ ...rest, input: z.object({ day: z.string().trim() }) }, 'no words for'],
      [
        { ...rest, input, limits: ({ day }: { day: string }) => [{ key: day, concurrency: 1 }] },
        'functions of the input',
      ],
    ];
    for (const [one, why] of refused) {
      const { card, ...of } = registrationOf(defineWorkflow(one as never) as never);
      const registered = registeredDefinition({ ...of, card });
      expect(() => registered.parseInput({})).toThrow(why);
    }
  });

  it('has open values, records and alternatives in its input as its code has them', async () => {
    const input = z.object({
      any: z.json(),
      by: z.record(z.string(), z.int()),
      one: z.union([z.literal('a'), z.object({ kind: z.literal('b'), list: z.array(z.string()).max(2) })]),
      nothing: z.null().optional(),
    });
    const { card, ...of } = registrationOf(defineWorkflow({ ...spec, input } as never) as unknown as Workflow);
    const { parseInput } = registeredDefinition({ ...of, card });
    const good = { any: [{ x: [null, 1] }], by: { k: 1 }, one: { kind: 'b', list: ['x'] } };
    expect(parseInput(good)).toEqual(good);
    for (const bad of [{ by: { k: 'v' } }, { one: 'c' }, { one: { kind: 'b', list: ['', '', ''] } }, { nothing: 0 }]) {
      expect(() => parseInput({ ...good, ...bad })).toThrow(Object.keys(bad)[0]);
    }
  });

  it('has its priority and limits, where these are fixed', async () => {
    await opened(defineWorkflow({ ...spec, priority: 2, limits: [{ key: 'k', concurrency: 1 }] } as never));
    await world.client.start(await known('order'), { day: 'd' }, { id: 'o-6' });
    await waiting('o-6');
    expect(await world.client.run('o-6').summary()).toMatchObject({
      dispatch: { priority: 2, limits: [{ key: 'k', concurrency: 1 }] },
    });
  });
});

describe('registrations', () => {
  it('are written where they differ, and the newest word on a version counts', async () => {
    await opened(order);
    const { registrations } = world.client;
    const [first] = await registrations.list();
    await registrations.register([first!]);
    await registrations.register([{ ...first!, card: { changed: true } }]);
    expect(await registrations.list()).toEqual([{ ...first!, card: { changed: true } }]);
    expect(() => registeredDefinition({ ...first!, card: { changed: true } })).toThrow(
      'is not as this release writes it',
    );
  });

  it('of old versions make way for newer ones, and one that is registered again stays', async () => {
    await opened();
    const { registrations } = world.client;
    const card = {};
    const versions = async () => (await registrations.list()).map(({ version }) => version).sort((a, b) => a - b);
    for (const version of [1, 2, 3, 4, 5, 6, 7]) await registrations.register([{ name: 'one', version, card }]);
    await registrations.register([{ name: 'other', version: 1, card }]);
    expect(await versions()).toEqual([1, 3, 4, 5, 6, 7]);
    await registrations.register([{ name: 'one', version: 1, card }]);
    expect(await versions()).toEqual([1, 1, 3, 4, 5, 6, 7]);
  });

  it('are bounded, and what is too large is named', async () => {
    await opened();
    const large = { name: 'large', version: 1, card: 'x'.repeat(300_000) };
    const small = { name: 'small', version: 1, card: {} };
    await expect(world.client.registrations.register([large, small])).rejects.toMatchObject({
      code: 'definition-too-large',
    });
    expect(await world.client.registrations.list()).toEqual([small]);
  });
});
