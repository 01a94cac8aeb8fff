/** Owns a test for each bug of model calls and contexts that a hostile review found. */

import { streamFromJson } from '@tidemark/core';
import { type Model, type ModelAnswer, parkedQuestion, spentByWorkflow, type Usage } from '@tidemark/runtime';
import {
  agentMessage,
  defineEffect,
  defineWorkflow,
  said,
  task,
  taskGoal,
  toolResult,
  userMessage,
} from '@tidemark/sdk';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const LONG = 'a text that is long enough to be stored once and to be named by its digest from then on '.repeat(3);

const lookup = defineEffect({
  operation: 'files.read',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({ text: z.string() }),
  call: async () => ({ text: LONG }),
});

const model = testModel(() => 'ok');

/** Takes nothing, keeps no belief and returns nothing. */
const plain = { version: 1, input: z.object({}), belief: z.object({}), output: z.object({}) } as const;

/** Makes fragments from the results of effects and closures, then calls the model. */
const reader = defineWorkflow({
  name: 'reader',
  ...plain,
  tasks: { read: z.object({}), think: z.object({}) },
  flow: { read: ['think'], think: [] },
  models: { default: model },
  bundles: { all: { budgetTokens: 4_000 } },
  begin: () => ({ belief: {}, next: [task('read', {})], fragments: [taskGoal('Read.')] }),
  steps: {
    async read(ctx) {
      const { text } = await ctx.effect(lookup, {});
      const again = await ctx.run('again', () => ({ text: `${LONG} once more` }));
      const result = toolResult({ id: 'c1', name: 'read' }, { text });
      return {
        fragments: [result, agentMessage(again.text), userMessage(`odd \0 and \ud800`)],
        next: [task('think', {})],
      };
    },
    async think(ctx) {
      await ctx.model({ bundle: 'all' });
      return { done: {} };
    },
  },
});

/** A summary with an impossible range would stop a projector that trusted it. */
const odd = defineWorkflow({
  name: 'odd',
  ...plain,
  tasks: { one: z.object({}) },
  flow: { one: [] },
  retry: { attempts: 1 },
  begin: () => ({ belief: {}, next: [task('one', {})] }),
  steps: {
    one: async () => ({ fragments: [{ type: 'summary', text: 's', covers: {} as never }], done: {} }),
  },
});

const phased = defineWorkflow({
  name: 'phased',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ keys: z.array(z.string()), phases: z.array(z.string()) }),
  tasks: { slow: z.object({}), quick: z.object({}), end: z.object({}) },
  flow: { slow: [], quick: ['end'], end: [] },
  starts: ['slow', 'quick'],
  phases: { p1: { next: ['p2'] }, p2: {} },
  retry: { attempts: 3, firstDelayMs: 0, factor: 1 },
  begin: () => ({ belief: {}, next: [task('slow', {}), task('quick', {})] }),
  steps: {
    async slow(ctx) {
      seen.push(ctx.memory.phase!);
      if (seen.length === 1) await handedOver.promise;
      return ctx.memory.phase === 'p1' ? { memory: { leftover: 'p1 data' } } : {};
    },
    async quick() {
      return { handOver: { to: 'p2', summary: 'Over.' }, next: [task('end', {}, { after: 'all' })] };
    },
    async end(ctx) {
      return { done: { keys: [...ctx.memory.keys], phases: seen } };
    },
  },
});
let seen: string[] = [];
let handedOver = Promise.withResolvers<void>();

/** Asks five questions at once. */
const eager = (name: string, answer: () => string, budget: object, extra: object = {}) => {
  const asked = testModel(answer, { maxOutputTokens: 100, attempts: 20, ...extra });
  const definition = defineWorkflow({
    name,
    ...plain,
    tasks: { ask: z.object({}) },
    flow: { ask: [] },
    models: { default: asked },
    budget,
    retry: { attempts: 2, firstDelayMs: 0, factor: 1 },
    begin: () => ({ belief: {}, next: [task('ask', {})] }),
    steps: {
      async ask(ctx) {
        const ask = (n: number) => ctx.model({ prompt: `Question ${n}`, name: `q${n}` });
        // The step ignores failures: a parked question must stop it all the same.
        await Promise.allSettled([1, 2, 3, 4, 5].map(ask));
        return { done: {} };
      },
    },
  });
  return { asked, definition };
};
const crowd = eager('crowd', () => 'yes', { workflow: { tokens: 150 } });
const failing = eager(
  'failing',
  () => {
    throw new Error('the provider is down');
  },
  { workflow: { tokens: 350 } },
);
/** Calls twice, the second time with its first answer in the prompt. */
const chained = defineWorkflow({
  name: 'chained',
  ...plain,
  tasks: { ask: z.object({}) },
  flow: { ask: [] },
  models: { default: model },
  begin: () => ({ belief: {}, next: [task('ask', {})] }),
  steps: {
    async ask(ctx) {
      const first = { role: 'user' as const, content: [{ type: 'text' as const, text: LONG }] };
      const second = { role: 'user' as const, content: [{ type: 'text' as const, text: 'and now?' }] };
      const reply = await ctx.model({ prompt: [first] });
      await ctx.model({ prompt: [first, second] });
      return { done: {}, fragments: said(reply) };
    },
  },
});

/** Asks its model once. */
const asking = (name: string, asked: Model, more: object = {}) =>
  defineWorkflow({
    name,
    ...plain,
    tasks: { ask: z.object({}) },
    flow: { ask: [] },
    models: { default: asked },
    ...more,
    begin: () => ({ belief: {}, next: [task('ask', {})] }),
    steps: {
      async ask(ctx) {
        await ctx.model({ prompt: 'How much?' });
        return { done: {} };
      },
    },
  });
const usageOf = (inputTokens: number, outputTokens: number, more: object = {}): Usage => ({
  ...{ inputTokens, outputTokens, cachedInputTokens: 0, reasoningTokens: 0, ...more },
});
const money = asking('priceless', { ...model, costMicros: () => undefined }, { budget: { workflow: { usd: 5 } } });

/** Its provider reports no usage: what the answer has was counted here. */
const unreported = asking(
  'unreported',
  testModel(({ messages }) => ({
    text: 'yes',
    usage: usageOf(messages.length * 10, 2, { estimatedTokens: messages.length * 10 + 2 }),
  })),
);
const free = asking('free', { ...model, costMicros: () => undefined });

let world: TestWorld;
beforeAll(async () => {
  const workflows = [reader, odd, phased, crowd.definition, failing.definition, money, chained, unreported, free];
  world = await testWorld({ workflows });
  return () => world.close();
});
afterEach(() => {
  seen = [];
  handedOver = Promise.withResolvers<void>();
});

/** The answer in the log. */
async function recordedOf(definition: typeof free, id: string): Promise<ModelAnswer> {
  const run = await world.start(definition, {}, { id, user: 'una' });
  await run.result();
  const [effect] = await world.ports.store.effects(id as never);
  return (JSON.parse(effect!.payload!) as { response: ModelAnswer }).response;
}

const reasonOf = (id: string) =>
  eventually(async () => {
    const summary = await world.client.run(id).summary();
    return summary?.status === 'parked' && summary.reason;
  });

describe('what steps make fragments of', () => {
  it.each([
    ['without a crash', undefined],
    ['with a crash after the checkpoint', { after: 'CheckpointCommitted' as const, step: 'read' }],
    ['with a crash after a tool has answered', { after: 'EffectResolved' as const, operation: 'files.read' }],
  ])('has its texts in the rows, %s', async (what, point) => {
    if (point !== undefined) world.crash(point);
    const run = await world.start(reader, {}, { id: `reader ${what}` });
    await run.result();
    const [call] = await world.bundles(run.id, 2);
    expect(call!.rebuilt).toBe(call!.sent);
    expect(JSON.stringify(call!.bundle!.messages)).toContain('once more');
    expect(JSON.stringify(call!.bundle!.messages)).toContain('odd \ufffd and \ufffd');
  });

  it('is refused where its range is none, and stops nobody else', async () => {
    const run = await world.start(odd, {});
    await expect(run.result()).rejects.toThrow(/fragments\[0\].covers/);
    await (await world.start(reader, {})).result();
  });

  it('names prompts that go on from prompts that are in the log', async () => {
    const run = await world.start(chained, {});
    await run.result();
    const calls = await world.bundles(run.id, 1);
    expect(calls.map(({ prompt }) => prompt.length)).toEqual([1, 2]);
  });
});

describe('working memory', () => {
  it('of a step that outlived its phase does not count: the step runs again in the new one', async () => {
    const run = await world.start(phased, {});
    await eventually(async () => (await run.summary())?.sequence === 1);
    handedOver.resolve();
    expect(await run.result()).toEqual({ keys: [], phases: ['p1', 'p2'] });
  });
});

describe('budgets', () => {
  it('hold for calls that are made at once, and are not passed over by a step that catches everything', async () => {
    await world.start(crowd.definition, {}, { id: 'crowd' });
    expect(await reasonOf('crowd')).toBe('budget_exceeded');
    const { tokens } = (await world.client.memory.spent('default' as never, null, 0)).reserved;
    expect(tokens).toBe(0);
    expect(crowd.asked.prompts.length).toBeLessThan(5);
  });

  it('count what failed calls may have cost', async () => {
    await world.start(failing.definition, {}, { id: 'failing' });
    expect(await reasonOf('failing')).toBe('budget_exceeded');
    expect(failing.asked.prompts.length).toBeLessThanOrEqual(3);
    // Nobody said that any of it was paid: it is held all the same, and shown apart.
    const [stored] = await world.ports.store.loadStreams(['failing' as never], { payloads: false });
    const spent = spentByWorkflow(streamFromJson(stored!.state, stored!.tasks));
    const calls = failing.asked.prompts.length;
    expect(spent).toMatchObject({ tokens: 0, costMicros: 0, unknownCalls: calls });
    expect(spent.unknownTokens).toBeGreaterThan(calls * 100);
    expect(spent.unknownTokens).toBeLessThanOrEqual(350);
    const { question } = (await world.client.run('failing').summary())!;
    const asked = await parkedQuestion(world.ports.store, 'failing' as never, question!.id);
    expect(asked?.evidence).toMatchObject({ spent: 0, unknown: spent.unknownTokens });
  });

  it('hold what a provider did not report, as it was counted here, and show it as that', async () => {
    const answer = await recordedOf(unreported, 'unreported');
    const { inputTokens, outputTokens, estimatedTokens } = answer.usage;
    expect(estimatedTokens).toBe(inputTokens + outputTokens);
    expect(await world.client.run('unreported').summary()).toMatchObject({ tokens: estimatedTokens, estimatedTokens });
    expect(await world.client.memory.spent('default' as never, 'una', 0)).toMatchObject({
      settled: { tokens: estimatedTokens, estimatedTokens },
    });
  });

  it('show what a model without a price took as that, never as nothing', async () => {
    const { usage, costMicros } = await recordedOf(free, 'free');
    expect(costMicros).toBeNull();
    const tokens = usage.inputTokens + usage.outputTokens;
    expect(await world.client.run('free').summary()).toMatchObject({ tokens, unpricedTokens: tokens });
  });

  it('in money refuse a model without a price', async () => {
    await world.start(money, {}, { id: 'money' });
    expect(await reasonOf('money')).toBe('model-unpriced');
  });
});
