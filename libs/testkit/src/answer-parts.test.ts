/** What a provider wants back with its answer: kept once, sent back to it alone, rebuilt byte for byte, and dropped where a mask changed it. */

import { type Partition, partsOwner, type WorkflowId } from '@tidemark/core';
import { noTelemetry } from '@tidemark/ports';
import {
  agentMessage,
  defineWorkflow,
  file,
  type ModelReply,
  said,
  task,
  taskGoal,
  tool,
  toolCallSchema,
  toolResult,
  userMessage,
} from '@tidemark/sdk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type TestModel, testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const SIGNATURE = 'c2lnbmF0dXJl'.repeat(20);
/** Made up, and of the form that services give out. */
const TOKEN = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;

const partsOf = (thought: string) => [
  { type: 'reasoning', text: thought, providerMetadata: { test: { signature: SIGNATURE } } },
  { type: 'text', chars: 8 },
  { type: 'tool-call', providerMetadata: { test: { id: 'fc_1' } } },
  { type: 'tool-call' },
];
const signing = (thought = 'So it is.'): TestModel =>
  testModel((_prompt, call) =>
    call > 1
      ? 'Two.'
      : {
          text: 'I look. ',
          toolCalls: ['c1', 'c2'].map((id) => ({ id, name: 'stock', input: { item: id } })),
          parts: { provider: 'test', text: JSON.stringify(partsOf(thought)) },
        },
  );

type Open = {
  readonly second?: TestModel;
  readonly said?: typeof said;
  readonly masks?: boolean;
  readonly budget?: number;
};

/** Asks, acts twice, and asks again, in another process if `dies`. */
async function looped(model: TestModel, { second = model, masks = false, budget = 4_000, ...more }: Open = {}) {
  const tell = more.said ?? said;
  const shop = defineWorkflow({
    name: 'shop',
    version: 1,
    input: z.object({}),
    belief: z.object({ asked: z.boolean() }),
    output: z.object({ answer: z.string() }),
    tasks: { think: z.object({}), act: toolCallSchema },
    flow: { think: ['act', 'think'], act: [] },
    starts: ['think'],
    models: { default: model, second },
    tools: {
      stock: tool({ description: 'Counts.', input: z.object({ item: z.string() }), run: () => 'x'.repeat(400) }),
    },
    bundles: { reply: { budgetTokens: budget, traceEntries: 0 } },
    begin: () => ({
      belief: { asked: false },
      next: [task('think', {})],
      fragments: [taskGoal('Answer.'), userMessage('Any left?'), agentMessage('Let me see.')],
    }),
    steps: {
      async think(ctx) {
        const reply: ModelReply = await ctx.model({ bundle: 'reply', model: ctx.belief.asked ? 'second' : 'default' });
        if (reply.toolCalls.length === 0) return { done: { answer: reply.text }, fragments: tell(reply) };
        const next = [...reply.toolCalls.map((call) => task('act', call)), task('think', {}, { after: 'all' })];
        return { belief: () => ({ asked: true }), fragments: tell(reply), next };
      },
      async act(ctx, call) {
        return { fragments: [toolResult(call, await ctx.tool(call))] };
      },
    },
  });
  const world = await testWorld({
    workflows: [shop],
    ...(masks && { telemetry: noTelemetry, secretPolicy: { onSecret: 'mask' as const } }),
  });
  onTestFinished(() => world.close());
  // What the second call sees comes from rows.
  world.crash({ after: 'CheckpointCommitted' });
  const run = await world.start(shop, {}, { id: 'w' });
  expect(await run.result()).toEqual({ answer: 'Two.' });
  return { world, sent: second.prompts.at(-1)!.messages };
}

/** The raw content of the log. */
async function logOf({ ports: { log } }: TestWorld): Promise<string> {
  const texts: string[] = [];
  for (let partition = 0; partition < (await log.partitionCount()); partition += 1) {
    const from = { partition: partition as Partition, from: 0 as never };
    const [read] = await log.read([from], { maxBytes: 8_000_000 });
    texts.push(...(read?.records ?? []).map(({ value }) => Buffer.from(value).toString('utf8')));
  }
  return texts.join('\n');
}

describe('the parts of an answer', () => {
  it('go back in their place, are in the log once, and are rebuilt byte for byte', async () => {
    const { world, sent } = await looped(signing());
    const [reasoning, , first] = partsOf('So it is.');
    expect(sent.filter(({ role }) => role === 'assistant').at(-1)).toEqual({
      role: 'assistant',
      content: [
        { type: 'opaque', part: reasoning },
        { type: 'text', text: 'I look. ' },
        { type: 'tool-call', id: 'c1', name: 'stock', input: { item: 'c1' }, providerOptions: first!.providerMetadata },
        { type: 'tool-call', id: 'c2', name: 'stock', input: { item: 'c2' } },
      ],
    });
    expect((await logOf(world)).split(SIGNATURE).length - 1).toBe(1);
    const [call] = await world.bundles('w' as WorkflowId, 4);
    expect(call).toMatchObject({ messages: sent, bundle: { origin: { provider: 'test' } } });
    expect(call!.rebuilt).toBe(call!.sent);
  });

  it.each([
    ['another.chat', 'test'],
    // Of another vendor, behind the same gateway.
    ['test', 'openai/gpt'],
  ])('go to no other provider, and the digest says so: %s, %s', async (provider, modelId) => {
    const other: TestModel = { ...testModel(() => 'Two.'), provider, modelId };
    const { world, sent } = await looped(signing(), { second: other });
    expect(JSON.stringify(sent)).not.toMatch(/opaque|providerOptions/);
    expect(sent.filter(({ role }) => role === 'assistant').at(-1)?.content).toHaveLength(3);
    const [call] = await world.bundles('w' as WorkflowId, 4);
    expect(call!.rebuilt).toBe(call!.sent);
    expect(call!.bundle!.origin).not.toHaveProperty('provider');
  });

  it('belong to the vendor, where a provider serves several', () => {
    const owners = [
      ['openai.chat', 'gpt-4.1', 'openai'],
      ['openai.responses', 'gpt-5', 'openai'],
      ['vertex.anthropic.messages', 'claude-sonnet-4-5', 'vertex.anthropic'],
      ['gateway', 'anthropic/claude-sonnet-4.5', 'gateway/anthropic'],
      ['gateway', 'anthropic/claude-opus-4', 'gateway/anthropic'],
      ['openrouter.chat', 'google/gemini-2.5-pro', 'openrouter/google'],
      ['amazon-bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'amazon-bedrock/us.anthropic'],
      ['amazon-bedrock', 'amazon.nova-pro-v1:0', 'amazon-bedrock/amazon'],
      [
        'amazon-bedrock',
        'arn:aws:bedrock:x:1:application-inference-profile/a',
        'amazon-bedrock/arn:aws:bedrock:x:1:application-inference-profile/a',
      ],
    ] as const;
    for (const [provider, modelId, owner] of owners) expect(partsOwner({ provider, modelId })).toBe(owner);
  });

  it('are counted: an answer that does not fit with them is not sent in part, and nothing is paid', async () => {
    const model = signing(`So ${'it is '.repeat(900)}`);
    await expect(looped(model, { budget: 700 })).rejects.toThrow('its provider wants back all that it signed');
    expect(model.prompts).toHaveLength(1);
  });

  it('are dropped where a mask of secrets changed them, as one signed by nobody', async () => {
    const { world, sent } = await looped(signing(`The token is ${TOKEN}.`), { masks: true });
    expect(JSON.stringify(sent)).not.toMatch(/opaque|providerOptions/);
    expect(await logOf(world)).not.toContain(TOKEN);
  });

  it('must come as said(reply) gives them', async () => {
    const broken: typeof said = (reply) => said(reply).slice(0, 2);
    await expect(looped(signing(), { said: broken })).rejects.toThrow(/take what said\(reply\)/);
    // Each would be read at every later call.
    for (const part of [null, 7, [], {}, { type: 'text' }, { type: 'text', chars: -1 }, { type: 'file', chars: 8 }]) {
      const wrong: typeof said = (reply) =>
        said(reply).map((one) => (one.parts ? { ...one, parts: { ...one.parts, text: JSON.stringify([part]) } } : one));
      await expect(looped(signing(), { said: wrong })).rejects.toThrow(/take what said\(reply\)/);
    }
  });
});

it('a file of a person is kept once, counted by its rule, and named where only text can be', async () => {
  const data = Buffer.alloc(60_000, 'x').toString('base64');
  const model = testModel(() => 'A lamp.');
  const looks = defineWorkflow({
    name: 'looks',
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.object({ answer: z.string() }),
    tasks: { look: z.object({ count: z.int() }) },
    flow: { look: ['look'] },
    starts: ['look'],
    models: { default: model },
    bundles: { reply: { budgetTokens: 4_000 } },
    begin: () => ({
      belief: {},
      next: [task('look', { count: 1 })],
      fragments: [userMessage(['What is ', file({ mediaType: 'image/png', data, filename: 'lamp.png' }), 'this?'])],
    }),
    steps: {
      async look(ctx, { count }) {
        const again = [{ role: 'user' as const, content: [file({ mediaType: 'image/jpeg', data })] }];
        const reply = await ctx.model({ bundle: 'reply', prompt: again });
        return count === 2
          ? { done: { answer: reply.text } }
          : { next: [task('look', { count: 2 })], fragments: said(reply) };
      },
    },
  });
  const world = await testWorld({ workflows: [looks] });
  onTestFinished(() => world.close());
  const run = await world.start(looks, {}, { id: 'w' });
  await run.result();
  expect(model.prompts[1]!.messages.find(({ role }) => role === 'user')!.content).toEqual([
    { type: 'text', text: 'What is ' },
    { type: 'file', mediaType: 'image/png', data, filename: 'lamp.png' },
    { type: 'text', text: 'this?' },
  ]);
  const log = await logOf(world);
  expect(log.split(data).length - 1).toBe(2);
  const reserved = [...log.matchAll(/"reserved":\{[^}]*"tokens":(\d+)/g)].map(([, tokens]) => Number(tokens));
  // Two images, the texts, and what is reserved for the answer.
  expect(reserved).toEqual([expect.closeTo(4_250, -2), expect.closeTo(4_280, -2)]);
  const [fragment] = await world.ports.store.fragments('w' as WorkflowId, 1 as never);
  expect(fragment!.text).toBe('What is \n[lamp.png, image/png, 60000 bytes]\nthis?');
});
