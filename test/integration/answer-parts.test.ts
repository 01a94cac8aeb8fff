/**
 * Tool loops over the providers' own packages: what a provider gave with its first answer (signatures, encrypted reasoning, ids) is in its
 * second request, where its published format wants it, and in no other provider's. Answers are what the providers document.
 */

import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createMistral } from '@ai-sdk/mistral';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { model } from '@tidemark/ai';
import { defineWorkflow, file, said, task, taskGoal, tool, toolResult, userMessage } from '@tidemark/sdk';
import { testWorld } from '@tidemark/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

// biome-ignore lint/suspicious/noExplicitAny: each provider's own form, which the expectations spell out.
type Body = { readonly [member: string]: any };
const TEXT = 'Let me look that up in the store, which takes a moment. '.repeat(3);
const SIGNATURE = 'c2lnbmF0dXJl'.repeat(20);
const OTHER = 'cmVkYWN0ZWQ='.repeat(20);

/** Answers in turn, and keeps what was sent. */
function answering(...answers: readonly object[]) {
  const sent: Body[] = [];
  const fetch = async (_url: unknown, init?: { readonly body?: unknown }): Promise<Response> => {
    sent.push(JSON.parse(String(init?.body)) as Body);
    return new Response(JSON.stringify(answers[sent.length - 1]), { headers: { 'content-type': 'application/json' } });
  };
  return { sent, fetch: fetch as typeof globalThis.fetch };
}

const usage = { input_tokens: 9, output_tokens: 9, total_tokens: 18 };
const chatUsage = { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 };
const key = { apiKey: 'none' };
type Given = ReturnType<typeof answering>;

const responses = (...output: object[]) => ({
  ...{ id: 'resp_1', created_at: 1, model: 'gpt-5', output, usage, incomplete_details: null, error: null },
});
const message = (...content: object[]) => ({
  ...{ type: 'message', id: 'msg_1', model: 'claude', role: 'assistant', content, usage, stop_sequence: null },
  stop_reason: content.some((part) => 'input' in part) ? 'tool_use' : 'end_turn',
});
const candidates = (...parts: object[]) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 9, totalTokenCount: 18 },
});
const converse = (...content: object[]) => ({
  output: { message: { role: 'assistant', content } },
  stopReason: content.some((part) => 'toolUse' in part) ? 'tool_use' : 'end_turn',
  usage: { inputTokens: 9, outputTokens: 9, totalTokens: 18 },
});
const chat = (more: object) => ({
  ...{ id: 'chat_1', created: 1, model: 'm', object: 'chat.completion', usage: chatUsage },
  choices: [
    { index: 0, finish_reason: 'tool_calls' in more ? 'tool_calls' : 'stop', message: { role: 'assistant', ...more } },
  ],
});
const chatCall = { id: 'call12345', type: 'function', function: { name: 'stock', arguments: '{"item":"lamp"}' } };
const outputText = { type: 'output_text', text: 'Two.', annotations: [] };

/** Name, model, its two answers, settings, and where the second request has what the first answer gave. */
const providers: readonly {
  readonly name: string;
  readonly of: (given: Given) => Parameters<typeof model>[0];
  readonly answers: readonly [object, object];
  readonly settings?: Record<string, unknown>;
  readonly partsIn: (body: Body) => unknown;
  readonly parts: unknown;
}[] = [
  {
    name: 'openai.responses',
    of: ({ fetch }) => createOpenAI({ ...key, fetch }).responses('gpt-5'),
    answers: [
      responses(
        {
          type: 'reasoning',
          id: 'rs_1',
          encrypted_content: SIGNATURE,
          summary: [{ type: 'summary_text', text: 'Hm.' }],
        },
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ ...outputText, text: TEXT }] },
        { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'stock', arguments: '{"item":"lamp"}' },
      ),
      responses({ type: 'message', id: 'msg_2', role: 'assistant', content: [outputText] }),
    ],
    partsIn: ({ input, include }) => [
      include,
      ...input.slice(-4).map(({ type, role, id, encrypted_content }: Body) => [type ?? role, id, encrypted_content]),
    ],
    parts: [
      ['reasoning.encrypted_content'],
      ['reasoning', 'rs_1', SIGNATURE],
      ['assistant', undefined, undefined],
      ['function_call', undefined, undefined],
      ['function_call_output', undefined, undefined],
    ],
  },
  {
    name: 'openai.responses (its reasoning as an id alone)',
    of: ({ fetch }) => createOpenAI({ ...key, fetch }).responses('gpt-5'),
    answers: [
      responses(
        { type: 'reasoning', id: 'rs_1', encrypted_content: null, summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ ...outputText, text: TEXT }] },
        { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'stock', arguments: '{"item":"lamp"}' },
      ),
      responses({ type: 'message', id: 'msg_2', role: 'assistant', content: [outputText] }),
    ],
    partsIn: ({ input, store }) => [store, ...input.slice(-4).map(({ type, role }: Body) => type ?? role)],
    parts: [false, 'user', 'assistant', 'function_call', 'function_call_output'],
  },
  {
    name: 'anthropic',
    of: ({ fetch }) => createAnthropic({ ...key, fetch })('claude-sonnet-4-5'),
    answers: [
      message(
        { type: 'thinking', thinking: 'Hm.', signature: SIGNATURE },
        { type: 'redacted_thinking', data: OTHER },
        { type: 'text', text: TEXT },
        { type: 'tool_use', id: 'toolu_1', name: 'stock', input: { item: 'lamp' } },
      ),
      message({ type: 'text', text: 'Two.' }),
    ],
    settings: { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2_000 } } } },
    partsIn: ({ messages }) => messages.at(-2).content,
    parts: [
      { type: 'thinking', thinking: 'Hm.', signature: SIGNATURE },
      { type: 'redacted_thinking', data: OTHER },
      { type: 'text', text: TEXT.trimEnd() },
      { type: 'tool_use', id: 'toolu_1', name: 'stock', input: { item: 'lamp' } },
    ].map((part) => expect.objectContaining(part.type === 'text' ? { type: 'text' } : part)),
  },
  {
    name: 'google',
    of: ({ fetch }) => createGoogle({ ...key, fetch })('gemini-3-pro-preview'),
    answers: [
      candidates(
        { text: 'Hm.', thought: true },
        { text: TEXT },
        { functionCall: { name: 'stock', args: { item: 'lamp' } }, thoughtSignature: SIGNATURE },
      ),
      candidates({ text: 'Two.' }),
    ],
    partsIn: ({ contents }) => contents.at(-2).parts,
    parts: [
      { text: 'Hm.', thought: true },
      { text: TEXT },
      expect.objectContaining({
        functionCall: expect.objectContaining({ name: 'stock', args: { item: 'lamp' } }),
        thoughtSignature: SIGNATURE,
      }),
    ],
  },
  {
    name: 'amazon-bedrock',
    of: ({ fetch }) => createAmazonBedrock({ ...key, region: 'eu-west-1', fetch })('anthropic.claude-sonnet-4-5'),
    answers: [
      converse(
        { reasoningContent: { reasoningText: { text: 'Hm.', signature: SIGNATURE } } },
        { text: TEXT },
        { toolUse: { toolUseId: 'tooluse_1', name: 'stock', input: { item: 'lamp' } } },
      ),
      converse({ text: 'Two.' }),
    ],
    partsIn: ({ messages }) => messages.at(-2).content[0],
    parts: { reasoningContent: { reasoningText: { text: 'Hm.', signature: SIGNATURE } } },
  },
  {
    name: 'mistral',
    of: ({ fetch }) => createMistral({ ...key, fetch })('magistral-medium-latest'),
    answers: [
      chat({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm, lamps.' }] },
          { type: 'text', text: TEXT },
        ],
        tool_calls: [chatCall],
      }),
      chat({ content: 'Two.' }),
    ],
    partsIn: ({ messages }) => JSON.stringify(messages.at(-2)).includes('Hm, lamps.'),
    parts: true,
  },
  {
    name: 'openai-compatible',
    of: ({ fetch }) =>
      createOpenAICompatible({ name: 'deepseek', baseURL: 'http://none.test/v1', fetch })('deepseek-reasoner'),
    answers: [
      chat({ content: TEXT, reasoning_content: 'Hm, lamps.', tool_calls: [chatCall] }),
      chat({ content: 'Two.' }),
    ],
    partsIn: ({ messages }) => messages.at(-2).reasoning_content,
    parts: 'Hm, lamps.',
  },
];

/** `second`: the model of every turn but the first. */
async function loop(
  first: ReturnType<typeof model>,
  second: ReturnType<typeof model>,
  settings = {},
  streamed = false,
) {
  const shop = defineWorkflow({
    name: 'shop',
    version: 1,
    input: z.object({ question: z.string() }),
    belief: z.object({ turn: z.int() }),
    output: z.object({ answer: z.string() }),
    tasks: { think: z.object({}), act: z.object({ id: z.string(), name: z.string(), input: z.json() }) },
    flow: { think: ['act', 'think'], act: [] },
    starts: ['think'],
    models: { default: first, second },
    tools: { stock: tool({ description: 'Counts.', input: z.object({ item: z.string() }), run: () => ({ left: 2 }) }) },
    bundles: { reply: { budgetTokens: 4_000 } },
    begin: ({ question }) => ({
      belief: { turn: 1 },
      next: [task('think', {})],
      fragments: [
        taskGoal('Answer the customer.'),
        userMessage(['Look: ', file({ mediaType: 'image/png', data: PICTURE }), question]),
      ],
    }),
    steps: {
      async think(ctx) {
        const { turn } = ctx.belief;
        const which = turn === 1 ? 'default' : 'second';
        const reply = await ctx.model({ bundle: 'reply', model: which, settings, stream: streamed });
        const belief = () => ({ turn: turn + 1 });
        if (reply.toolCalls.length === 0) return { belief, done: { answer: reply.text }, fragments: said(reply) };
        const acts = reply.toolCalls.map((call) => task('act', call));
        return { belief, fragments: said(reply), next: [...acts, task('think', {}, { after: 'all' })] };
      },
      async act(ctx, call) {
        return { fragments: [toolResult(call, await ctx.tool(call))] };
      },
    },
  });
  const world = await testWorld({ workflows: [shop] });
  onTestFinished(() => world.close());
  const run = await world.start(shop, { question: 'Any left?' });
  expect(await run.result()).toEqual({ answer: 'Two.' });
  return { world, run };
}

/** One pixel. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the second turn of a tool loop', () => {
  it.each(providers)(
    'has what $name gave with the first, and the picture',
    async ({ of, answers, settings, partsIn, parts }) => {
      const given = answering(...answers);
      const asked = model(of(given));
      await loop(asked, asked, settings);
      expect(partsIn(given.sent[1]!)).toEqual(parts);
      for (const body of given.sent) expect(JSON.stringify(body)).toContain(PICTURE);
    },
  );
});
