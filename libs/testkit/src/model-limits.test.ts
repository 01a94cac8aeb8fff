import { Host } from '@tidemark/host';
import type { EventLog } from '@tidemark/ports';
import { Coordinator, LamportClock } from '@tidemark/runtime';
import { defineEffect, defineWorkflow, task, taskGoal, tool, userMessage } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestModel, testModel } from './test-model.ts';
import { type TestWorld, type TestWorldOptions, testWorld } from './test-world.ts';

let world: TestWorld;
const open = async (options: TestWorldOptions): Promise<TestWorld> => {
  world = await testWorld(options);
  return world;
};
afterEach(async () => world.close());

/** Asks its model so many times, each time about something else. */
const asker = (model: TestModel, more: object = {}) =>
  defineWorkflow({
    name: 'asker',
    version: 1,
    input: z.object({ times: z.int(), same: z.boolean().default(false) }),
    belief: z.object({}),
    output: z.object({ times: z.int() }),
    tasks: { ask: z.object({ time: z.int() }) },
    flow: { ask: ['ask'] },
    starts: ['ask'],
    models: { default: model },
    ...more,
    begin: () => ({ belief: {}, next: [task('ask', { time: 1 })] }),
    steps: {
      async ask(ctx, { time }) {
        await ctx.model({ prompt: ctx.input.same ? 'Again?' : `Question ${time}`, settings: { maxOutputTokens: 100 } });
        return time === ctx.input.times ? { done: { times: time } } : { next: [task('ask', { time: time + 1 })] };
      },
    },
  });

const parked = (id: string, code: string) =>
  eventually(
    async () => {
      const summary = await world.client.run(id).summary();
      return summary?.status === 'parked' && summary.reason === code;
    },
    { what: `${id} parked: ${code}` },
  );

describe('a budget', () => {
  let model: TestModel;
  beforeEach(() => {
    model = testModel(() => 'yes');
  });

  it.each([
    ['of a call', { call: { tokens: 50 } }, 0],
    ['of a step', { step: { tokens: 50 } }, 0],
    ['of a workflow, in tokens', { workflow: { tokens: 250 } }, 2],
    ['of a workflow, in money', { workflow: { usd: 0.00025 } }, 2],
  ])('%s pauses the workflow before the call, and a raise lets it go on', async (_, budget, before) => {
    const definition = asker(model, { budget });
    await open({ workflows: [definition] });
    const run = await world.start(definition, { times: 8 }, { id: 'a1' });
    await parked(run.id, 'budget_exceeded');
    expect(model.prompts.length).toBeGreaterThanOrEqual(before);
    expect(model.prompts.length).toBeLessThan(8);
    await world.client.memory.raiseBudget(run.id, { tokens: 10_000, costMicros: 10_000, by: 'ann', why: 'worth it' });
    expect(await run.result()).toEqual({ times: 8 });
    expect(model.prompts).toHaveLength(8);
  });

  it.each([
    ['tenant', {}],
    ['user', { user: 'ana' }],
  ])('of a %s holds for all their workflows together', async (_, of) => {
    const definition = asker(model);
    await open({ workflows: [definition] });
    await world.client.memory.setBudget('default' as never, of, { tokens: 150, period: 'day' });
    const runs = await Promise.all(
      ['a', 'b', 'c'].map((id) => world.start(definition, { times: 5 }, { id, user: 'ana' })),
    );
    for (const run of runs) await parked(run.id, 'budget_exceeded');
    // Reserved before and settled after: 100 reserved for an answer of one token.
    const { settled, reserved } = await world.client.memory.spent('default' as never, null, 0);
    expect(reserved).toEqual({ tokens: 0, costMicros: 0 });
    expect(settled.tokens).toBeGreaterThan(0);
    expect(settled.tokens).toBeLessThanOrEqual(150);
    await world.client.memory.setBudget('default' as never, of, undefined);
    // They resume by themselves, without an answer to each.
    for (const run of runs) expect(await run.result()).toEqual({ times: 5 });
    expect(model.prompts).toHaveLength(15);
  });

  it('is refused by name when it is none', async () => {
    const definition = asker(model);
    await open({ workflows: [definition] });
    const { memory } = world.client;
    await expect(memory.setBudget('default' as never, {}, { tokens: -1, period: 'day' })).rejects.toMatchObject({
      code: 'budget-invalid',
      details: { field: 'tokens' },
    });
    await expect(memory.setBudget('default' as never, {}, { tokens: 1, period: 'week' as never })).rejects.toThrow(
      /period is "week": give one of hour, day, month, total/,
    );
  });
});

describe('what is paused for want of a shared budget', () => {
  const TENANT = 'default' as never;
  const ENOUGH = { tokens: 100_000, period: 'hour' } as const;
  const ids = ['a', 'b'] as const;
  let model: TestModel;

  beforeEach(async () => {
    model = testModel(() => 'yes');
    const definitions = [asker(model), asker(model, { name: 'frugal', budget: { workflow: { tokens: 50 } } })] as const;
    await open({ workflows: definitions });
    await world.client.memory.setBudget(TENANT, {}, { tokens: 150, period: 'hour' });
    for (const id of ids) await world.start(definitions[0], { times: 5 }, { id });
    await world.start(definitions[1], { times: 5 }, { id: 'own' });
    for (const id of [...ids, 'own']) await parked(id, 'budget_exceeded');
  });

  const countOf = async (id: string, wanted: string) =>
    (await world.ports.store.events(id as never, 1_000)).filter(({ type }) => type === wanted).length;
  const completed = (id: string) =>
    eventually(async () => (await world.client.run(id).summary())?.status === 'completed', {
      what: `${id} goes on`,
    });

  const never = () => new Promise<never>(() => {});
  /** A process that sets a budget dies just before it resumes the first workflow. */
  const dieSetting = async (): Promise<void> => {
    const { log } = world.ports;
    const dead = Promise.withResolvers<void>();
    const append: EventLog['append'] = (partition, records) => {
      if (!records.some(({ type }) => type === 'BudgetRaised')) return log.append(partition, records);
      dead.resolve();
      return never();
    };
    const dying = new Host({ ...world.ports, log: Object.assign(Object.create(log) as EventLog, { append }) }, never);
    void dying.client.memory.setBudget(TENANT, {}, ENOUGH);
    await dead.promise;
  };

  it('goes on though its raiser died with the raise', async () => {
    await dieSetting();
    for (const id of ids) await completed(id);
    expect(await countOf('own', 'BudgetRaised')).toBe(0);
  });

  it('goes on once for each pause, however many see that there is room', async () => {
    const others = ['x', 'y'].map((name) => new Coordinator({ ports: world.ports, lamport: new LamportClock(), name }));
    for (const other of others) await other.start();
    try {
      await dieSetting();
      for (const id of ids) await completed(id);
      for (const id of ids) expect(await countOf(id, 'BudgetRaised')).toBe(await countOf(id, 'WorkflowParked'));
    } finally {
      for (const other of others) await other.stop();
    }
  });

  it('goes on when its period has passed', async () => {
    for (const id of ids) {
      world.advance('3h');
      await eventually(async () => (await countOf(id, 'BudgetRaised')) > 0, {
        what: `${id} goes on`,
      });
    }
    expect(await countOf('own', 'BudgetRaised')).toBe(0);
  });

  it('is let alone while there is no room for its call', async () => {
    const { store } = world.ports;
    const search = store.search.bind(store);
    let pollCount = 0;
    store.search = (query) => {
      if (query.reason === 'budget_exceeded') pollCount++;
      return search(query);
    };
    await world.fastForward(eventually(() => pollCount > 3));
    for (const id of ids) expect(await countOf(id, 'BudgetRaised')).toBe(0);
  });
});

describe('an agent that runs in circles', () => {
  it('is stopped when it asks a model the same again and again, though every call succeeds', async () => {
    const model = testModel(() => 'yes');
    const definition = asker(model, { repeatsMax: 3 });
    await open({ workflows: [definition] });
    const run = await world.start(definition, { times: 9, same: true });
    await parked(run.id, 'run-away-loop');
    expect(model.prompts).toHaveLength(3);
  });

  it('goes on while it asks something else each time (control)', async () => {
    const model = testModel(() => 'yes');
    const definition = asker(model, { repeatsMax: 3 });
    await open({ workflows: [definition] });
    const run = await world.start(definition, { times: 9 });
    expect(await run.result()).toEqual({ times: 9 });
  });

  it('is stopped when its model calls a tool with the same input again and again, whatever else is said', async () => {
    const poll = defineEffect({
      operation: 'shop.look',
      kind: 'idempotent',
      request: z.object({ item: z.string() }),
      response: z.object({ stock: z.int() }),
      call: async () => ({ stock: 0 }),
    });
    const model = testModel((_, call) => ({
      text: `try ${call}`,
      toolCalls: [{ id: `c${call}`, name: 'look', input: { item: 'x' } }],
    }));
    const definition = defineWorkflow({
      name: 'shopper',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({}),
      tasks: { think: z.object({}) },
      flow: { think: ['think'] },
      starts: ['think'],
      models: { default: model },
      tools: { look: tool({ description: 'Looks.', input: z.object({ item: z.string() }), effect: poll }) },
      bundles: { shop: { budgetTokens: 2_000 } },
      repeatsMax: 4,
      begin: () => ({ belief: {}, next: [task('think', {})], fragments: [taskGoal('Buy x.')] }),
      steps: {
        async think(ctx) {
          const reply = await ctx.model({ bundle: 'shop' });
          for (const call of reply.toolCalls) await ctx.tool(call);
          return { fragments: [userMessage(reply.text)], next: [task('think', {})] };
        },
      },
    });
    await open({ workflows: [definition] });
    const run = await world.start(definition, {});
    await parked(run.id, 'run-away-loop');
    expect(world.calls(poll)).toHaveLength(4);
  });
});

describe('a streamed answer', () => {
  it('is told piece by piece while it is being recorded, and recorded as a whole', async () => {
    const reported: string[] = [];
    const model = testModel(() => 'It comes in pieces.');
    const definition = defineWorkflow({
      name: 'streamer',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({ text: z.string() }),
      tasks: { ask: z.object({}) },
      flow: { ask: [] },
      models: { default: model },
      begin: () => ({ belief: {}, next: [task('ask', {})] }),
      steps: { ask: async (ctx) => ({ done: { text: (await ctx.model({ prompt: 'Tell', stream: true })).text } }) },
    });
    await open({
      workflows: [definition],
      onDelta: ({ delta }) => void (delta.kind === 'text' && reported.push(delta.text ?? '')),
    });
    const run = await world.start(definition, {});
    expect(await run.result()).toEqual({ text: 'It comes in pieces.' });
    expect(reported.length).toBeGreaterThan(1);
    expect(reported.join('')).toBe('It comes in pieces.');
  });

  it('that breaks off midway is asked again, and only the whole one is recorded', async () => {
    let asked = 0;
    const whole = testModel(() => 'All of it.');
    const breaking: TestModel = {
      ...whole,
      answer: async (prompt, context, isStreamed) => {
        context.onDelta({ kind: 'text', text: 'All' });
        if (asked++ === 0) throw new Error('the connection was cut');
        return whole.answer(prompt, context, isStreamed);
      },
    };
    const definition = asker(breaking);
    await open({ workflows: [definition] });
    const run = await world.start(definition, { times: 1 });
    expect(await run.result()).toEqual({ times: 1 });
    expect(asked).toBe(2);
    const [call] = await world.bundles(run.id, 1);
    expect(call!.answer!.text).toBe('All of it.');
  });
});
