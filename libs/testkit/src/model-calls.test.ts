import { type BundleMessage, type PromptForm, portableName } from '@tidemark/core';
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
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { brokenRules } from './prompt-rules.ts';
import { type TestModel, testModel } from './test-model.ts';
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

const search = defineEffect({
  operation: 'web.search',
  kind: 'idempotent',
  request: z.object({ query: z.string() }),
  response: z.object({ found: z.array(z.string()) }),
  call: async ({ query }) => ({ found: [`about ${query}`] }),
});

/** An agent that thinks, acts, and thinks again. */
const researcher = (model: TestModel, more: object = {}) =>
  defineWorkflow({
    name: 'researcher',
    version: 1,
    input: z.object({ question: z.string() }),
    belief: z.object({}),
    output: z.object({ answer: z.string() }),
    tasks: { think: z.object({}), act: toolCallSchema },
    flow: { think: ['act', 'think'], act: [] },
    starts: ['think'],
    models: { default: model },
    tools: {
      search: tool({ description: 'Searches the web.', input: z.object({ query: z.string() }), effect: search }),
    },
    bundles: { investigate: { budgetTokens: 4_000 } },
    system: 'You are a researcher. Use the tools.',
    ...more,
    begin: ({ question }) => ({
      belief: {},
      next: [task('think', {})],
      fragments: [taskGoal('Answer with sources.'), userMessage(question)],
    }),
    steps: {
      async think(ctx) {
        const reply = await ctx.model({ bundle: 'investigate' });
        if (reply.toolCalls.length === 0) return { done: { answer: reply.text }, fragments: said(reply) };
        return {
          fragments: said(reply),
          next: [...reply.toolCalls.map((call) => task('act', call)), task('think', {}, { after: 'all' })],
        };
      },
      async act(ctx, call) {
        return { fragments: [toolResult(call, await ctx.tool(call))] };
      },
    },
  });

const searchesOnce = (): TestModel =>
  testModel((_prompt, call) =>
    call === 1 ? { toolCalls: [{ id: 'c1', name: 'search', input: { query: 'tides' } }] } : 'The moon does it.',
  );

describe('an agent that thinks and acts', () => {
  it('sees its goal, the user and what its tools found, and is paid for what it asked', async () => {
    const model = searchesOnce();
    const world = await open({ workflows: [researcher(model)] });
    const run = await world.start(researcher(model), { question: 'What makes the tides?' });
    expect(await run.result()).toEqual({ answer: 'The moon does it.' });
    const [first, second] = model.prompts.map(({ messages }) => JSON.stringify(messages));
    expect(first).toContain('You are a researcher');
    expect(first).toContain('Answer with sources.');
    expect(first).toContain('What makes the tides?');
    expect(second).toContain('about tides');
    const summary = (await run.summary())!;
    expect(summary.tokens).toBeGreaterThan(100);
    expect(summary.costMicros).toBe(summary.tokens);
  });

  it('runs no tool with a number that would be rounded: the model is told, and may write it as a text', async () => {
    const input = '{"query":9007199254740993}';
    const model = testModel((_prompt, call) =>
      call === 1
        ? { toolCalls: [{ id: 'c1', name: 'search', input }] }
        : call === 2
          ? { toolCalls: [{ id: 'c2', name: 'search', input: { query: '9007199254740993' } }] }
          : 'Found.',
    );
    const world = await open({ workflows: [researcher(model)] });
    const run = await world.start(researcher(model), { question: 'Whose is it?' });
    expect(await run.result()).toEqual({ answer: 'Found.' });
    const [, second, third] = model.prompts.map(({ messages }) => JSON.stringify(messages));
    expect(second).toMatch(/Nothing was run.*can't be kept as it is written/);
    expect(third).toContain('about 9007199254740993');
    const effects = await world.ports.store.effects(run.id as never);
    expect(effects.filter(({ operation }) => operation === 'web.search')).toHaveLength(1);
  });

  it('shows every bundle again, byte for byte', async () => {
    const model = searchesOnce();
    const world = await open({ workflows: [researcher(model)] });
    const run = await world.start(researcher(model), { question: 'What makes the tides?' });
    await run.result();
    for (const [at, sent] of [
      [1, 0],
      [3, 1],
    ] as const) {
      const [call] = await world.bundles(run.id, at);
      expect(call!.rebuilt).toBe(call!.sent);
      expect(call!.messages).toEqual(model.prompts[sent]!.messages);
      expect(call!.answer).toMatchObject({ finishReason: sent === 0 ? 'tool-calls' : 'stop' });
    }
  });

  it.each([
    ['before the intention is in the log', { before: 'EffectIntended' as const }, 2],
    ['after the intention', { after: 'EffectIntended' as const }, 2],
    ['after the call, before its answer is in the log', { after: 'call' as const }, 3],
    ['after the answer is in the log: it is not paid twice', { after: 'EffectResolved' as const }, 2],
  ])('sends the same bundle when its worker dies %s', async (_, point, asked) => {
    const model = searchesOnce();
    const definition = researcher(model, { retry: { attempts: 5, firstDelayMs: 0, factor: 1 } });
    const world = await open({ workflows: [definition] });
    world.crash({ ...point, operation: 'model' });
    const run = await world.start(definition, { question: 'What makes the tides?' });
    // Asked twice for its first thought, the model answers as if it had thought once more.
    expect((await run.result()).answer).toBe('The moon does it.');
    expect(world.crashCount).toBe(1);
    expect(model.prompts).toHaveLength(asked === 3 ? 2 : asked);
    const [call] = await world.bundles(run.id, 1);
    expect(call!.rebuilt).toBe(call!.sent);
    expect(call!.messages).toEqual(model.prompts[0]!.messages);
  });
});

describe('what a provider would refuse', () => {
  const orders = (model: TestModel, output: (item: string) => string, budgetTokens = 4_000) =>
    researcher(model, {
      bundles: { investigate: { budgetTokens } },
      tools: {
        search: tool({
          description: 'Searches.',
          input: z.object({ query: z.string() }),
          run: async ({ query }) => output(query),
        }),
      },
    });
  const calling = (...calls: { id: string; query: string }[]) => ({
    toolCalls: calls.map(({ id, query }) => ({ id, name: 'search', input: { query } })),
  });
  const pairsIn = ({ messages }: TestModel['prompts'][number]) => {
    const parts = messages.flatMap(({ content }): readonly object[] => (typeof content === 'string' ? [] : content));
    const of = (type: string) =>
      parts.filter((part) => 'type' in part && part.type === type) as { id: string; output: string; input: unknown }[];
    return of('tool-call').map(({ id, input }, n) => ({ id, input, output: of('tool-result')[n]!.output }));
  };

  it('a result of 150 KB under a budget of 4,000 is seen, cut, under its call', async () => {
    const rows = Array.from({ length: 3_000 }, (_, n) => `row ${n} ${'value '.repeat(8)}`).join('\n');
    const model = testModel((prompt, call) =>
      call === 1 || pairsIn(prompt).length === 0 ? calling({ id: 'c1', query: 'all' }) : 'Enough.',
    );
    const world = await open({ workflows: [orders(model, () => rows)] });
    const run = await world.start(
      orders(model, () => rows),
      { question: 'Which rows?' },
    );
    expect(await run.result()).toEqual({ answer: 'Enough.' });
    expect(model.prompts).toHaveLength(2);
    const [pair] = pairsIn(model.prompts[1]!);
    expect(pair!.output).toMatch(/^row 0 [\s\S]*\[Cut here: \d+ of \d+ characters are missing/);
    const [call] = await world.bundles(run.id, 3);
    expect(call!.rebuilt).toBe(call!.sent);
    expect(call!.bundle!.manifest.items.find(({ type }) => type === 'tool_result')).toMatchObject({
      cut: { of_chars: rows.length },
    });
    expect((await run.summary())!.tokens).toBeLessThan(10_000);
  });

  it('two calls without an id get their own results, whichever is there first', async () => {
    const model = testModel((_prompt, call) =>
      call === 1 ? calling({ id: '', query: 'slow' }, { id: '', query: 'quick' }) : 'Done.',
    );
    const definition = orders(model, (query) => `about ${query}`);
    const world = await open({ workflows: [definition] });
    const run = await world.start(definition, { question: 'Both?' });
    await run.result();
    expect(pairsIn(model.prompts[1]!)).toEqual([
      { id: 'call-1', input: { query: 'slow' }, output: 'about slow' },
      { id: 'call-2', input: { query: 'quick' }, output: 'about quick' },
    ]);
    const [call] = await world.bundles(run.id, 1);
    expect(call!.answer!.toolCalls.map(({ id }) => id)).toEqual(['', '']);
  });

  it('names and ids are made fit, the record keeps them, and an answer by the made name means the tool', async () => {
    const model = testModel(
      (_prompt, call) =>
        call < 3
          ? { toolCalls: [{ id: 'a:b', name: call === 1 ? 'web.search' : portableName('web.search'), input: {} }] }
          : 'Done.',
      { promptForm: '1-mistral' },
    );
    const world = await open({ workflows: [researcher(model)] });
    const run = await world.start(researcher(model), { question: 'Tides?' });
    await run.result();
    for (const { messages } of model.prompts) expect(brokenRules(messages, 'mistral')).toEqual([]);
    const [second] = await world.bundles(run.id, 3);
    expect(second!.answer!.toolCalls[0]).toMatchObject({ id: 'a:b', name: 'web.search' });
    const [third] = await world.bundles(run.id, 5);
    expect(third!.messages).toEqual(model.prompts[2]!.messages);
    expect(third!.rebuilt).toBe(third!.sent);
  });

  it.each([
    ['with a bundle', { bundle: 'all' }],
    ['without one', {}],
  ])(
    'another attempt sends the form that was recorded, though the model takes another one by then: %s',
    async (_, of) => {
      let reads = 0;
      const promptForm = (): PromptForm => (reads++ === 0 ? '1' : '1-mistral');
      const model = Object.defineProperty(
        testModel(() => 'Done.'),
        'promptForm',
        { get: promptForm },
      );
      const history: readonly BundleMessage[] = [
        // A member that is undefined is none.
        { role: 'system', content: 'Be', providerOptions: undefined } as never,
        { role: 'system', content: 'brief.' },
        { role: 'assistant', content: [{ type: 'tool-call', id: 'call_1', name: 'look', input: {} }] },
        { role: 'tool', content: [{ type: 'tool-result', id: 'call_1', name: 'look', output: 'seen' }] },
      ];
      const definition = defineWorkflow({
        name: 'form',
        version: 1,
        input: z.object({}),
        belief: z.object({}),
        output: z.string(),
        tasks: { ask: z.object({}) },
        flow: { ask: [] },
        retry: { attempts: 3, firstDelayMs: 0 },
        models: { default: model },
        bundles: { all: { budgetTokens: 1_000 } },
        begin: () => ({ belief: {}, next: [task('ask', {})], fragments: [taskGoal('Look.')] }),
        steps: {
          async ask(ctx) {
            const { text } = await ctx.model({ ...of, prompt: history });
            return { done: text };
          },
        },
      });
      const world = await open({ workflows: [definition] });
      world.crash({ after: 'EffectIntended', operation: 'model' });
      const run = await world.start(definition, {});
      await run.result();
      expect(world.crashCount).toBe(1);
      const [call] = await world.bundles(run.id, 1);
      expect(JSON.stringify(model.prompts[0]!.messages)).toContain('call_1');
      expect(model.prompts[0]!.messages.filter(({ role }) => role === 'system')).toHaveLength(1);
      expect(call!.rebuilt).toBe(call!.sent);
      expect(call!.messages).toEqual(model.prompts[0]!.messages);
    },
  );

  it('what the model has no room for is refused at no cost, and the step is not tried again', async () => {
    const model = testModel(() => 'x', { contextTokens: 1_050 });
    const world = await open({ workflows: [researcher(model)] });
    const run = await world.start(researcher(model), { question: 'Tides?' });
    await expect(run.result()).rejects.toThrow(/takes 1\d+ tokens .* and the model has 1050/);
    expect(model.prompts).toHaveLength(0);
    expect((await run.summary())!.tokens).toBe(0);
  });
});

describe('what is asked outside of a bundle', () => {
  const Verdict = z.object({ sentiment: z.enum(['good', 'bad']) });
  const judge = (model: TestModel) =>
    defineWorkflow({
      name: 'judge',
      version: 1,
      input: z.object({ text: z.string() }),
      belief: z.object({}),
      output: Verdict,
      tasks: { judge: z.object({}) },
      flow: { judge: [] },
      models: { default: model },
      begin: () => ({ belief: {}, next: [task('judge', {})] }),
      steps: {
        async judge(ctx) {
          const { object } = await ctx.model({ prompt: `Judge: ${ctx.input.text}`, schema: Verdict });
          return { done: object, fragments: [agentMessage('judged')] };
        },
      },
    });

  it('gives structured output, and sends back once what does not fit', async () => {
    const model = testModel((_, call) => (call === 1 ? 'It is good!' : '```json\n{"sentiment":"good"}\n```'));
    const world = await open({ workflows: [judge(model)] });
    const run = await world.start(judge(model), { text: 'Lovely.' });
    expect(await run.result()).toEqual({ sentiment: 'good' });
    expect(model.prompts).toHaveLength(2);
    expect(JSON.stringify(model.prompts[1]!.messages)).toContain('is no JSON');
  });
});

describe('an answer of any schema', () => {
  const asks = <Answer extends z.ZodType>(model: TestModel, schema: Answer) =>
    defineWorkflow({
      ...{ name: 'asks', version: 1, input: z.object({}), belief: z.object({}), output: z.object({ found: z.json() }) },
      tasks: { ask: z.object({}) },
      flow: { ask: [] },
      models: { default: model },
      begin: () => ({ belief: {}, next: [task('ask', {})] }),
      steps: {
        async ask(ctx) {
          return { done: { found: (await ctx.model({ prompt: 'Which?', schema })).object as never } };
        },
      },
    });

  it.each<[z.ZodType, string, unknown]>([
    [z.array(z.int()), '{"answer":[1,2]}', [1, 2]],
    [z.array(z.int()), '[1,2]', [1, 2]],
    [z.enum(['good', 'bad']), '{"answer":"bad"}', 'bad'],
    [z.union([z.object({ a: z.int() }), z.null()]), '{"a":1}', { a: 1 }],
    [z.object({ answer: z.object({ answer: z.int() }) }), '{"answer":{"answer":1}}', { answer: { answer: 1 } }],
  ])('%# is asked for as an object, and read as it is', async (schema, text, object) => {
    const model = testModel(() => text);
    const definition = asks(model, schema);
    const world = await open({ workflows: [definition] });
    expect(await (await world.start(definition, {})).result()).toEqual({ found: object });
    expect(model.prompts).toHaveLength(1);
    expect(model.prompts[0]!.responseSchema).toMatchObject({ type: 'object', additionalProperties: false });
  });

  it('with a type that JSON does not have is refused by its place, before anything is paid', async () => {
    const model = testModel(() => '{}');
    const definition = asks(model, z.object({ order: z.object({ cents: z.bigint() }) }));
    const world = await open({ workflows: [definition] });
    await expect((await world.start(definition, {})).result()).rejects.toThrow(
      'the schema of the answer, at order.cents: ',
    );
    expect(model.prompts).toEqual([]);
  });
});

describe('a step that has ended', () => {
  it('can ask no model any more, nor can a compensation that kept its context', async () => {
    const model = testModel(() => 'yes');
    let kept: { model(options: object): Promise<unknown> } | undefined;
    let refused: unknown;
    const booking = defineEffect({
      operation: 'travel.book',
      kind: 'idempotent',
      request: z.object({}),
      response: z.object({}),
      call: async () => ({}),
      compensate: async () => {
        refused = await kept!.model({ prompt: 'What now?' }).catch((error: unknown) => error);
      },
    });
    const definition = defineWorkflow({
      name: 'trip',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({}),
      tasks: { book: z.object({}), fail: z.object({}) },
      flow: { book: ['fail'], fail: [] },
      models: { default: model },
      effects: [booking],
      onFailure: 'compensate',
      retry: { attempts: 1 },
      begin: () => ({ belief: {}, next: [task('book', {})] }),
      steps: {
        async book(ctx) {
          kept = ctx;
          await ctx.effect(booking, {});
          return { next: [task('fail', {})] };
        },
        async fail() {
          throw new Error('no hotel');
        },
      },
    });
    const world = await open({ workflows: [definition] });
    const run = await world.start(definition, {});
    await world.fastForward(run.result().catch((error: unknown) => error));
    expect(refused).toMatchObject({ code: 'step-ended' });
    expect(model.prompts).toHaveLength(0);
  });
});
