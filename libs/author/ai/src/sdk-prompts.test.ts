/** Prompts as the AI SDK hands them to a model, with members that are undefined on every message and part: the rules hold for them, too. */

import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { BundleMessage } from '@tidemark/core';
import { defineWorkflow, task } from '@tidemark/sdk';
import { testWorld } from '@tidemark/testkit';
import { conversationOf } from '@tidemark/testkit/conversations';
import { brokenRules, PROMPT_RULES } from '@tidemark/testkit/prompt-rules';
import { generateText, type ModelMessage, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { fitPrompt } from './fit-prompt.ts';
import { tidemark } from './middleware.ts';
import { FakeStep } from './step-fixture.ts';

const CONVERSATIONS = 300;

/** A model that keeps the prompts it gets. */
function keeping() {
  const prompts: LanguageModelV4Prompt[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      prompts.push(prompt);
      return {
        content: [{ type: 'text', text: 'ok' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
  return { prompts, model };
}

const messagesOf = (prompt: readonly BundleMessage[]): ModelMessage[] =>
  prompt.map(({ role, content }) => {
    if (typeof content === 'string') return { role, content } as ModelMessage;
    const parts = content.map((part) => {
      if (part.type === 'tool-call')
        return { type: part.type, toolCallId: part.id, toolName: part.name, input: part.input };
      if (part.type !== 'tool-result') return part;
      const output = { type: 'text', value: part.output };
      return { type: part.type, toolCallId: part.id, toolName: part.name, output };
    });
    return { role, content: parts } as ModelMessage;
  });

/** What a provider reads of it: no call of a conversation has options. */
const readBack = (prompt: LanguageModelV4Prompt): readonly BundleMessage[] =>
  prompt.map(({ role, content }) => {
    if (typeof content === 'string') return { role, content } as BundleMessage;
    const parts = content.map((part) => {
      if (part.type === 'tool-call') return { ...part, id: part.toolCallId, name: part.toolName };
      if (part.type !== 'tool-result') return part;
      const output = part.output.type === 'text' ? part.output.value : part.output;
      return { ...part, id: part.toolCallId, name: part.toolName, output };
    });
    return { role, content: parts } as unknown as BundleMessage;
  });

/** Undefined: the SDK itself refuses a call without its result. */
async function sentThrough(messages: ModelMessage[], isFit: boolean): Promise<LanguageModelV4Prompt | undefined> {
  const { prompts, model } = keeping();
  const wrapped = wrapLanguageModel({ model, middleware: isFit ? tidemark(new FakeStep().attempt()) : [] });
  try {
    await generateText({ model: wrapped, messages, allowSystemInMessages: true });
  } catch (error) {
    if ((error as Error).name !== 'AI_MissingToolResultsError') throw error;
  }
  return prompts[0];
}

test('generated conversations through generateText break no rule, and without the middleware nearly every one', async () => {
  const unfit = new Set<string>();
  let asked = 0;
  for (let seed = 0; seed < CONVERSATIONS; seed++) {
    const messages = messagesOf(conversationOf(seed).prompt);
    if (messages.length === 0) continue;
    const sent = await sentThrough(messages, true);
    if (sent === undefined) continue;
    asked += 1;
    // An answer that the prompt begins is its author's.
    const isBegun = sent.at(-1)!.role === 'assistant';
    const broken = brokenRules(readBack(sent)).filter(({ rule }) => !(isBegun && rule === 'user-ends'));
    expect(broken, `conversation ${seed}`).toEqual([]);
    const before = await sentThrough(messages, false);
    for (const { rule } of brokenRules(readBack(before!))) unfit.add(rule);
  }
  expect(asked).toBeGreaterThan(CONVERSATIONS / 4);
  expect(unfit.size).toBeGreaterThan(PROMPT_RULES.length - 3);
});

test('a member that is undefined is no field of a provider’s, in messages, parts and options', async () => {
  const sent = await sentThrough(
    [
      { role: 'system', content: 'one' },
      { role: 'system', content: 'two' },
      { role: 'user', content: '   ' },
      { role: 'user', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
      { role: 'assistant', content: 'p' },
      { role: 'assistant', content: 'q' },
      { role: 'user', content: 'end' },
    ],
    true,
  );
  expect(sent).toEqual([
    { role: 'system', content: 'one\n\ntwo' },
    { role: 'user', content: [{ type: 'text', text: 'a\n\nb' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'p\n\nq' }] },
    { role: 'user', content: [{ type: 'text', text: 'end' }] },
  ]);
  const providerOptions = { openai: undefined, other: { conversation: undefined } } as never;
  const options: LanguageModelV4CallOptions = { prompt: [{ role: 'system', content: 'x' }], providerOptions };
  expect(fitPrompt(options, '1')).toHaveLength(2);
  // A blank answer is not one that the prompt begins.
  const asked = { role: 'user' as const, content: 'x' };
  expect(await sentThrough([asked, { role: 'assistant', content: ' ' }], true)).toMatchObject([{ role: 'user' }]);
});

test('a call that its provider signed stays where it stands, and its answer alone', () => {
  const signed = { providerOptions: { google: { thoughtSignature: 'c2ln' } } };
  const call = { type: 'tool-call', toolCallId: 'a', toolName: 't', input: {}, ...signed } as const;
  const result = { type: 'tool-result', toolCallId: 'a', toolName: 't', output: { type: 'text', value: 'r' } } as const;
  const prompt: LanguageModelV4Prompt = [
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
    { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.' }] },
    { role: 'assistant', content: [call, { type: 'text', text: 'late' }] },
    { role: 'tool', content: [result] },
  ];
  const sent = fitPrompt({ prompt }, '1');
  expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'tool']);
  expect(sent[3]).toEqual(prompt[2]);
});

test('files of a prompt count by their rule, in messages and in results, and not as their digests', async () => {
  const data = (count: number) => new Uint8Array(count).fill(7);
  const output = { type: 'content' as const, value: [pdf(data(160_000)), { type: 'text' as const, text: 'a page' }] };
  const messages: ModelMessage[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'file', mediaType: 'image/png', data: data(200_000) },
        { type: 'file', mediaType: 'image/png', data: new URL('https://example.com/a.png') },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'read', input: {} }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'read', output }] },
  ];
  const unreported = {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const model = new MockLanguageModelV4({
    supportedUrls: { 'image/*': [/./] },
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'ok' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage: unreported,
      warnings: [],
    }),
  });
  const looks = defineWorkflow({
    name: 'looks',
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.object({}),
    tasks: { ask: z.object({}) },
    flow: { ask: [] },
    begin: () => ({ belief: {}, next: [task('ask', {})] }),
    steps: {
      async ask(ctx) {
        const wrapped = wrapLanguageModel({ model, middleware: tidemark(ctx) });
        await generateText({ model: wrapped, messages });
        return { done: {} };
      },
    },
  });
  const world = await testWorld({ workflows: [looks] });
  onTestFinished(() => world.close());
  const run = await world.start(looks, {});
  await run.result();
  const [call] = await world.bundles(run.id, 1);
  // Two images, a PDF of a token for each 8 bytes, and the words.
  expect(call!.answer!.usage.inputTokens).toBeGreaterThan(2 * 1_600 + 20_000);
  expect(call!.answer!.usage.inputTokens).toBeLessThan(2 * 1_600 + 20_000 + 300);
});

const pdf = (data: Uint8Array) => ({
  type: 'file' as const,
  mediaType: 'application/pdf',
  data: { type: 'data' as const, data },
});
