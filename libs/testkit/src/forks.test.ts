/**
 * Owns the tests of forks of an agent with models, tools, working memory, a session and rolling summaries: its model calls see what the
 * base's saw, byte for byte, though nothing is copied; recorded answers are used, and cost nobody anything.
 */

import { DEFAULT_TENANT, type WorkflowId } from '@tidemark/core';
import type { Forked, ForkOptions } from '@tidemark/runtime';
import {
  agentMessage,
  defineEffect,
  defineWorkflow,
  said,
  task,
  taskGoal,
  tool,
  toolCallSchema,
  toolResult,
  userMessage,
} from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestModel, testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

/** Whole runs of an agent, on a busy machine. */
const TURNS = 3;
/** Long enough to be stored once and named afterwards. */
const LONG =
  'The tide rises and falls twice a day, by the pull of the moon and of the sun, as sailors have always known. ';

/** Numbers of two digits: how long an answer is decides when a summary is due. */
let answers = 10;

const search = defineEffect({
  operation: 'web.search',
  kind: 'irreversible',
  request: z.object({ query: z.string() }),
  response: z.object({ found: z.string() }),
  call: async ({ query }) => ({ found: `${LONG}About ${query}: ${answers++}.` }),
});

/** Thinks and searches some times, takes notes, summarises what it found, and answers with the number of its searches. */
const guide = (model: TestModel, version = 1) =>
  defineWorkflow({
    name: 'guide',
    version,
    input: z.object({ question: z.string() }),
    belief: z.object({ turns: z.int(), mood: z.string().optional() }),
    output: z.object({
      answer: z.string(),
      searches: z.array(z.string()),
      keys: z.array(z.string()),
      mood: z.string(),
    }),
    tasks: { think: z.object({}), act: toolCallSchema, answer: z.object({}) },
    flow: { think: ['act', 'think', 'answer'], act: [], answer: [] },
    starts: ['think'],
    models: { default: model },
    tools: { search: tool({ description: 'Searches.', input: z.object({ query: z.string() }), effect: search }) },
    bundles: {
      investigate: {
        budgetTokens: 4_000,
        traceEntries: 3,
        summary: { thresholdTokens: 300, keepTokens: 100, by: 'model' },
      },
    },
    summaryModel: 'default',
    phases: { search: { next: ['tell'] }, tell: {} },
    system: 'You are a guide to tides.',
    begin: ({ question }) => ({
      belief: { turns: 0 },
      next: [task('think', {})],
      fragments: [taskGoal('Answer with sources.'), userMessage(`${LONG}${question}`)],
    }),
    steps: {
      async think(ctx) {
        const prompt = ctx.belief.turns < TURNS ? 'Search.' : 'Think.';
        const reply = await ctx.model({ bundle: 'investigate', prompt });
        const belief = (b: typeof ctx.belief) => ({ ...b, turns: b.turns + 1 });
        const memory = { [`note${ctx.belief.turns}`]: reply.text };
        if (reply.toolCalls.length === 0) {
          const handOver = { to: 'tell', carry: [`note${ctx.belief.turns}`], summary: 'Found out.' };
          return { belief, memory, handOver, fragments: said(reply), next: [task('answer', {})] };
        }
        const acts = reply.toolCalls.map((call) => task('act', call));
        return { belief, memory, fragments: said(reply), next: [...acts, task('think', {}, { after: 'all' })] };
      },
      async act(ctx, call) {
        const result = await ctx.tool(call);
        return { fragments: [toolResult(call, result)], output: JSON.stringify(result) };
      },
      async answer(ctx) {
        const reply = await ctx.model({ bundle: 'investigate', prompt: 'Answer now.' });
        const searches = (await ctx.outputs('act')) as string[];
        const { mood = 'calm' } = ctx.belief;
        return {
          done: { answer: reply.text, searches, keys: [...ctx.memory.keys], mood },
          fragments: [agentMessage(reply.text)],
        };
      },
    },
  });

/** Searches when it is told to; its answer depends only on the number of calls. */
const thinking = (): TestModel =>
  testModel(({ messages }, call) => {
    const text = `${LONG}Thought ${call}.`;
    if (!JSON.stringify(messages.at(-1)).includes('Search.')) return text;
    const parts = [{ type: 'reasoning', text: '', providerMetadata: { test: { by: `Signed ${call}` } } }];
    const said = [...parts, { type: 'text', chars: text.length }, { type: 'tool-call' }];
    return {
      text,
      toolCalls: [{ id: `c${call}`, name: 'search', input: { query: `tides ${call}` } }],
      parts: { provider: 'test', text: JSON.stringify(said) },
    };
  });

let world: TestWorld;
let model: TestModel;
let definition: ReturnType<typeof guide>;
let base: WorkflowId;

const fork = (of: WorkflowId, options: Partial<ForkOptions> & { at: number }): Promise<Forked> =>
  world.client.fork(of, { by: 'ann', effects: 'replay', definitions: [definition], ...options });
const result = (workflow: WorkflowId) => world.client.run(workflow).result();
const sequenceOf = async (workflow: WorkflowId) => (await world.client.run(workflow).summary())!.sequence;

/**
 * What each model call of the workflow sent, by the checkpoint that it led to; without the summary of the session, which a fork doesn't
 * make.
 */
async function sentIn(workflow: WorkflowId): Promise<ReadonlyMap<number, readonly unknown[]>> {
  const sent = new Map<number, readonly unknown[]>();
  for (let at = 1; at <= (await sequenceOf(workflow)); at++) {
    const all = await world.bundles(workflow, at).catch(() => []);
    const calls = all.filter(({ key }) => !key.endsWith(':session-summary'));
    for (const { rebuilt, sent: was } of calls) expect(rebuilt).toBe(was);
    if (calls.length > 0)
      sent.set(
        at,
        calls.map(({ bundle, prompt }) => [bundle?.messages ?? null, prompt]),
      );
  }
  return sent;
}

/** One world, and one base, for all: forks leave both as they were. */
beforeAll(async () => {
  model = thinking();
  definition = guide(model);
  world = await testWorld({ workflows: [definition] });
  const inSession = { session: 's1', user: 'ana' };
  await (await world.start(definition, { question: 'What are tides?' }, { ...inSession, id: 'earlier' })).result();
  const run = await world.start(definition, { question: 'How high are they?' }, { ...inSession, id: 'base' });
  await run.result();
  base = run.id;
});
afterAll(() => world.close());

describe('a fork of an agent', () => {
  it('that replays sees what its base saw, byte for byte, from every checkpoint, and asks and searches nothing', async () => {
    const [asked, searched] = [model.prompts.length, world.calls(search).length];
    const [whole, output] = [await sentIn(base), await result(base)];
    const newest = await sequenceOf(base);
    expect(newest).toBeGreaterThan(6);
    // The base saw the messages of the previous workflow of the session, and a summary.
    expect(JSON.stringify([...whole.values()])).toMatch(/Thought 3\..*thread_summary/);
    expect(JSON.stringify([...whole.values()])).toContain('Signed');
    for (let at = 0; at < newest; at++) {
      const { workflow } = await fork(base, { at });
      expect(await result(workflow)).toEqual(output);
      const seen = await sentIn(workflow);
      const expected = [...whole].flatMap(([sequence, calls]) => (sequence > at ? [[sequence - at, calls]] : []));
      expect([...seen]).toEqual(expected);
    }
    expect([model.prompts.length, world.calls(search).length]).toEqual([asked, searched]);
  });

  it('of a fork sees all that both share', async () => {
    const first = await fork(base, { at: 2 });
    const output = await result(first.workflow);
    const whole = await sentIn(base);
    const second = await fork(first.workflow, { at: 3 });
    expect(await result(second.workflow)).toEqual(output);
    expect([...(await sentIn(second.workflow)).values()]).toEqual(
      [...whole].flatMap(([sequence, calls]) => (sequence > 5 ? [calls] : [])),
    );
  });

  it('tells what its answers had cost, and pays none of it again; with live effects it pays', async () => {
    const spent = () => world.client.memory.spent(DEFAULT_TENANT, null, 0);
    const before = await spent();
    const { workflow } = await fork(base, { at: 1 });
    await result(workflow);
    const [own, whole] = await Promise.all([workflow, base].map((id) => world.client.run(id).summary()));
    expect(own!.tokens).toBeGreaterThan(0);
    expect(own!.tokens).toBeLessThan(whole!.tokens);
    expect(await spent()).toEqual(before);

    const live = await fork(base, { at: 1, effects: 'live' });
    await result(live.workflow);
    expect((await spent()).settled.tokens).toBeGreaterThan(before.settled.tokens);
  });

  it('is of no session: it goes on beside one, and leaves it no summary', async () => {
    const summaries = async () => {
      const { entries } = await world.client.memory.recall(DEFAULT_TENANT, {
        subjects: ['user:ana'],
        query: 'tides',
        limit: 20,
      });
      return entries.length;
    };
    const before = await summaries();
    const { workflow } = await fork(base, { at: 1, effects: 'live' });
    await result(workflow);
    expect(await summaries()).toBe(before);
    const row = (await world.client.run(workflow).summary())!;
    expect(row.fork).toEqual({ workflow: base, sequence: 1, effects: 'live' });
    const next = await world.start(definition, { question: 'And now?' }, { session: 's1', user: 'ana', id: 'next' });
    await next.result();
    expect(JSON.stringify([...(await sentIn(next.id)).values()])).not.toContain(workflow);
  });

  it('with another belief has another output, with the same answers', async () => {
    const asked = model.prompts.length;
    const newest = await sequenceOf(base);
    const changed = await fork(base, { at: newest - 1, belief: { turns: 1, mood: 'stormy' } });
    expect(await result(changed.workflow)).toMatchObject({ mood: 'stormy' });
    expect(model.prompts).toHaveLength(asked);
  });

  it('whose worker dies in the middle of it goes on with the same answers', async () => {
    const output = await result(base);
    const asked = model.prompts.length;
    world.crash({ after: 'EffectResolved', operation: 'model' });
    world.crash({ after: 'EffectResolved', operation: 'web.search' });
    const { workflow } = await fork(base, { at: 1 });
    expect(await result(workflow)).toEqual(output);
    await eventually(() => world.crashCount === 2);
    expect(model.prompts).toHaveLength(asked);
  });
});
