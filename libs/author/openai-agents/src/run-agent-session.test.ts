/** Owns runs of agents within a function that go on from a session, and requests of models that are sent again as they are recorded. */

import {
  Agent,
  type AgentInputItem,
  type AgentOutputItem,
  handoff,
  MemorySession,
  type Model,
  type ModelRequest,
  Runner,
  tool,
  Usage,
} from '@openai/agents-core';
import { assistantMessage, functionCall } from '@openai/agents-core/testing';
import type { Sequence } from '@tidemark/core';
import { Client, LamportClock } from '@tidemark/runtime';
import { defineFunction } from '@tidemark/sdk';
import { crashEverywhere, type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type RunAgentOptions, runAgent, TidemarkSession } from './index.ts';
import type { AnyAgent } from './recorded-agents.ts';

let world: TestWorld | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  await world?.close();
  world = undefined;
});

/** A session as another process on the same servers has it. */
const sessionOf = ({ ports }: TestWorld) => {
  const client = new Client({ ports, lamport: new LamportClock() });
  return new TidemarkSession({ client, forget: async () => {} }, { sessionId: 's' });
};

/** Answers by what it is asked. */
const modelOf = (answer: (items: readonly AgentInputItem[], request: ModelRequest) => AgentOutputItem[]): Model => ({
  getResponse: async (request) => {
    const items = typeof request.input === 'string' ? [] : request.input;
    return { usage: new Usage({ inputTokens: 1, outputTokens: 2 }), output: answer(items, request) };
  },
  async *getStreamedResponse(): AsyncGenerator<never> {},
});

/** A tool that the provider runs. */
const HOSTED = { type: 'hosted_tool', name: 'web_search', providerData: { type: 'web_search', size: 'low' } } as const;

const agentOf = () => {
  const lookUp = tool({
    name: 'look_up',
    description: 'looks up',
    parameters: z.object({ of: z.string() }),
    execute: async ({ of }) => `${of} is late`,
  });
  const model = modelOf((items) => {
    const last = items.at(-1)!;
    if ('role' in last && last.role === 'user')
      return [functionCall('look_up', { of: 'it' }, { callId: `c${items.length}` })];
    return [assistantMessage(`After ${items.length}.`)];
  });
  return new Agent({ name: 'a', model, tools: [lookUp] });
};

const chatOf = (agent: AnyAgent, options: () => RunAgentOptions<unknown>) =>
  defineFunction({
    name: 'chat',
    version: 1,
    input: z.object({ prompt: z.string() }),
    output: z.object({ text: z.string() }),
    run: async (ctx, { prompt }) => {
      const result = await runAgent(ctx, agent, prompt, { tools: { look_up: 'pure' }, ...options() });
      return { text: String(result.finalOutput) };
    },
  });

describe('a session of a run', () => {
  it('has each turn whole and once, as the framework keeps it, whatever boundary its worker dies at', async () => {
    const own = new MemorySession();
    const runner = new Runner({ tracingDisabled: true });
    await runner.run(agentOf(), 'one', { session: own });
    const before = await own.getItems();
    await runner.run(agentOf(), 'two', { session: own });
    let session: TidemarkSession | undefined;
    const chat = chatOf(agentOf(), () => ({ session: session! }));
    const { outcome, boundaries } = await crashEverywhere({ workflows: [chat] }, async (world) => {
      session = sessionOf(world);
      await sessionOf(world).addItems(before);
      const { text } = await (await world.start(chat, { prompt: 'two' })).result();
      return { text, items: await sessionOf(world).getItems() };
    });
    expect(outcome).toEqual({ text: 'After 7.', items: await own.getItems() });
    expect(boundaries).toBeGreaterThan(10);
  });

  it('has a turn once that was kept before its process died, also where it would be made otherwise now', async () => {
    let n = 0;
    const model = modelOf(() => [assistantMessage('late')]);
    const chat = chatOf(new Agent({ name: 'a', model }), () => ({
      session: sessionOf(world!),
      sessionInputCallback: (before, [item]) => {
        n += 1;
        return [...before, ...Array.from({ length: n }, () => ({ ...item!, providerData: { at: n } }))];
      },
    }));
    world = await testWorld({ workflows: [chat] });
    world.crash({ before: 'EffectResolved', operation: 'session.turn' });
    const run = await world.start(chat, { prompt: 'x' });
    expect(await world.fastForward(run.result())).toEqual({ text: 'late' });
    expect([world.crashCount, n > 1]).toEqual([1, true]);
    const items = await sessionOf(world).getItems();
    expect(items).toMatchObject([{ providerData: { at: 1 } }, { role: 'assistant' }]);
  });

  it('keeps nothing of a turn where somebody else wrote meanwhile, and the run says so', async () => {
    let other = async (): Promise<void> => {};
    const model = modelOf(() => [assistantMessage('late')]);
    const slow: Model = { ...model, getResponse: async (request) => other().then(() => model.getResponse(request)) };
    const chat = chatOf(new Agent({ name: 'a', model: slow }), () => ({ session: sessionOf(world!) }));
    world = await testWorld({ workflows: [chat] });
    other = async () => sessionOf(world!).addItems([{ role: 'user', content: 'quick' }]);
    const added = vi.spyOn(TidemarkSession.prototype, 'addTurn');
    const run = await world.start(chat, { prompt: 'first' });
    await expect(world.fastForward(run.result())).rejects.toThrow(/Somebody else has written session s/);
    expect(await sessionOf(world).getItems()).toEqual([{ role: 'user', content: 'quick' }]);
    // A second attempt would find the same.
    expect(added).toHaveBeenCalledTimes(1);
    other = async () => {};
    await (await world.start(chat, { prompt: 'second' })).result();
    expect(await sessionOf(world).getItems()).toHaveLength(3);
    // A turn writes what it adds.
    expect(added.mock.lastCall![1]).toMatchObject({ drop: 0, items: [{ content: 'second' }, { role: 'assistant' }] });
  });

  it.each([
    ['a session of another kind', { session: new MemorySession() as never }, /session: give a TidemarkSession/],
    [
      'a rule of another kind',
      { tools: { pay: 'idempotnt' as never } },
      /tools\.pay: give one of pure, idempotent, irreversible/,
    ],
    ['a stream of another kind', { stream: 'yes' as never }, /stream: give true or false/],
  ])('refuses %s', async (_, options, message) => {
    const chat = chatOf(agentOf(), () => options);
    world = await testWorld({ workflows: [chat] });
    await expect(world.fastForward((await world.start(chat, { prompt: 'x' })).result())).rejects.toThrow(message);
  });
});

it('names a tool whose approval the definition does not declare before anything is asked', async () => {
  const asked: string[] = [];
  const model = modelOf(() => {
    asked.push('model');
    return [assistantMessage('x')];
  });
  const called: unknown[] = [];
  const senders = [
    true,
    async (_: unknown, { to }: { readonly to: string }) => to !== 'me',
    // By their length these take no arguments.
    async (...given: unknown[]) => called.push(given) > 99,
    async (context: unknown = {}) => called.push(context) > 99,
  ].map((needsApproval) =>
    tool({
      ...{ name: 'send', description: 'sends', parameters: z.object({ to: z.string() }) },
      ...{ needsApproval, execute: async () => 'sent' },
    }),
  );
  for (const each of senders) {
    // Behind a hand-over, in a circle.
    const sender: AnyAgent = new Agent({ name: 'sender', model, tools: [each] });
    const first = new Agent({ name: 'first', model, handoffs: [handoff(sender)] });
    sender.handoffs.push(first as never);
    const chat = chatOf(first, () => ({ approval: 'may send' }));
    world = await testWorld({ workflows: [chat] });
    await expect(world.fastForward((await world.start(chat, { prompt: 'x' })).result())).rejects.toThrow(
      /Tool send of agent sender may need an approval, .* none named may send\. Add approvals: \{ "may send": z\.object/,
    );
    await world.close();
  }
  expect([asked, called]).toEqual([[], []]);
  const never = tool({
    name: 'n',
    description: 'n',
    parameters: z.object({}),
    execute: async () => 'n',
    needsApproval: false,
  });
  const chat = chatOf(new Agent({ name: 'a', model, tools: [never] }), () => ({ costMicros: () => 7 }));
  world = await testWorld({ workflows: [chat] });
  const run = await world.start(chat, { prompt: 'x' });
  expect(await run.result()).toEqual({ text: 'x' });
  // What it cost is the run's, as with any model of ours.
  const rows = await world.ports.store.checkpoints(run.id, { from: 1 as Sequence, limit: 9 });
  expect(rows.map(({ tokens, costMicros }) => [tokens, costMicros])).toContainEqual([3, 7]);
});

describe('a request whose answer nobody recorded', () => {
  const image = `data:image/png;base64,${'A'.repeat(8_000)}`;
  const asking = async (images: () => string) => {
    const asked: ModelRequest[] = [];
    const model = modelOf((_, request) => {
      asked.push(structuredClone({ ...request, signal: undefined, tracing: undefined, _internal: undefined }) as never);
      return [assistantMessage('seen')];
    });
    const look = tool({ name: 'look', description: 'looks', parameters: z.object({}), execute: async () => 'x' });
    const outputType = z.object({ text: z.string() });
    const other = new Agent({ name: 'other', model, outputType });
    const agent = new Agent({
      ...{
        name: 'a',
        model,
        tools: [look, HOSTED],
        handoffs: [other],
        modelSettings: { temperature: 0.5 },
        outputType,
      },
      instructions: () => `Attempt ${asked.length}`,
    });
    const chat = defineFunction({
      ...{ name: 'chat', version: 1, input: z.object({}), output: z.string() },
      run: async (ctx) => {
        const input: AgentInputItem[] = [
          {
            role: 'user',
            content: [
              { type: 'input_image', image: images() },
              { type: 'input_text', text: 'What is it?' },
              // A text of the user that reads like a file's name.
              { type: 'input_text', text: `file:${'a'.repeat(64)}` },
              { type: 'input_text', text: `file:file:${'b'.repeat(64)}` },
            ],
          },
        ];
        const result = await runAgent(ctx, agent as AnyAgent, input);
        return JSON.stringify(result.rawResponses[0]!.output);
      },
    });
    model.getResponse = ((get) => async (request) => {
      const response = await get(request);
      return { ...response, output: [assistantMessage('{"text":"seen"}')] };
    })(model.getResponse);
    world = await testWorld({ workflows: [chat] });
    world.crash({ before: 'EffectResolved', operation: 'model' });
    const run = await world.start(chat, {});
    return { asked, run };
  };

  it('is sent as it is recorded, with all it has', async () => {
    const { asked, run } = await asking(() => image);
    await world!.fastForward(run.result());
    expect(asked).toHaveLength(2);
    expect(asked[0]).toMatchObject({ systemInstructions: 'Attempt 0', tools: [{}, {}], handoffs: [{}] });
    expect(asked[1]).toEqual(asked[0]);
    expect(world!.crashCount).toBe(1);
  });

  it('is a matter for a person where its file is gone, who gives the words alone', async () => {
    let n = 0;
    const { asked, run } = await asking(() => image + n++);
    await expect(world!.fastForward(run.result())).rejects.toMatchObject({ code: 'workflow-parked' });
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };
    const response = { text: '{"text":"a cat"}', toolCalls: [], finishReason: 'stop', usage, costMicros: null };
    await world!.client.decide(run.id, { resolution: 'done', response, by: 'ana', why: 'looked' });
    expect(await world!.fastForward(run.result())).toContain('a cat');
    expect(asked).toHaveLength(1);
  });
});
