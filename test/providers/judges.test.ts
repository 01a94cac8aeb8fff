/** Local providers: their own packages read what they answer, each of their rules is noticed, and what we send breaks none. */

import { model } from '@tidemark/ai';
import type { EffectKey } from '@tidemark/core';
import type { ModelPrompt } from '@tidemark/runtime';
import { describe, expect, test } from 'vitest';
import { runSeed } from '../run-seed.ts';
import { FAMILIES } from './families/index.ts';
import { CUT_CALL, type Family, type Fields } from './judge.ts';
import { judged, type Verdict } from './judged.ts';
import { LOCAL, Provider } from './server.ts';

const FIT_COUNT = 40;
const UNFIT_COUNT = 25;

const prompt: ModelPrompt = {
  messages: [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: [{ type: 'text', text: 'Where is my order?' }] },
  ],
  raw: undefined,
  tools: [{ name: 'lookup', description: 'Finds an order.', inputSchema: { type: 'object', properties: {} } }],
  responseSchema: null,
  settings: { maxOutputTokens: 4_096 },
};

const asked = (family: Family, provider: Provider, isStreamed: boolean, over: Partial<ModelPrompt> = {}) =>
  model(family.languageModel(provider.fetch, LOCAL)).answer(
    { ...prompt, ...over },
    { key: 'w:0.0:model:0' as EffectKey, signal: new AbortController().signal, onDelta: () => {}, promptTokens: 20 },
    isStreamed,
  );

describe.each(FAMILIES.map((family) => [family.name, family] as const))('%s', (_name, family) => {
  test.each([false, true])('its package reads a full answer (streamed: %s)', async (isStreamed) => {
    const provider = new Provider(family);
    provider.script({ said: { reasoning: 'They want the order.', text: 'Let me look.', toolCalls: [CUT_CALL] } });
    const answer = await asked(family, provider, isStreamed);
    expect(provider.broken).toEqual([]);
    expect(answer).toMatchObject({
      text: 'Let me look.',
      toolCalls: [{ name: 'lookup', input: { order: 'A-4411', days: 30 } }],
      finishReason: 'tool-calls',
      usage: { inputTokens: 100, outputTokens: 20 },
    });
  });

  test('results that it takes only beside tools are told where the call offers none', async () => {
    const provider = new Provider(family);
    const messages: ModelPrompt['messages'] = [
      ...prompt.messages,
      { role: 'assistant', content: [{ type: 'tool-call', id: 'call00001', name: 'lookup', input: { order: 7 } }] },
      { role: 'tool', content: [{ type: 'tool-result', id: 'call00001', name: 'lookup', output: 'lost at sea' }] },
    ];
    await asked(family, provider, false, { messages, tools: [] });
    expect(provider.broken).toEqual([]);
    expect(JSON.stringify(provider.bodies)).toContain('lost at sea');
  });
});

/** Requests that no package makes of our conversations, each with the rules that it breaks. */
const SIGNED = { type: 'thinking', thinking: 'Hm.', signature: 'signed-3' };
const USE = { type: 'tool_use', id: 'a', name: 'n', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 'a', content: 'x' };
const LONG = 'x'.repeat(4_300_000);
const BODIES: Readonly<Record<string, readonly Fields[]>> = {
  'openai-chat': [
    { messages: [], surprise: 1 },
    { messages: [{ role: 'user', content: [] }] },
    { messages: [{ role: 'user', content: LONG }] },
    { messages: [{ role: 'user', content: 'x' }], tools: twice({ type: 'string' }) },
  ],
  'openai-responses': [
    { input: [], surprise: 1 },
    {
      input: [
        { type: 'message', id: 'a b' },
        { type: 'reasoning', id: 'rs_1' },
        { type: 'item_reference', id: 'msg_1' },
      ],
    },
    {
      input: [
        { type: 'function_call', id: 'fc_1_0', call_id: 'c', name: 'n' },
        { role: 'user', content: LONG },
      ],
    },
    { input: [{ role: 'user' }], tools: twice({}).map(({ function: declared }) => declared) },
  ],
  anthropic: [
    { messages: [{ role: 'user', content: [] }], surprise: 1 },
    {
      messages: [
        { role: 'user', content: LONG },
        { role: 'assistant', content: 'So ' },
      ],
    },
    { messages: [{ role: 'user', content: 'x' }], tools: [{ name: 'a' }, { name: 'a' }] },
    {
      messages: [
        { role: 'user', content: 'x' },
        {
          role: 'assistant',
          content: [
            { ...USE, input: [] },
            { ...SIGNED, signature: 'forged' },
          ],
        },
        { role: 'user', content: [RESULT] },
      ],
      thinking: { type: 'enabled', budget_tokens: 1_024 },
    },
  ],
  google: [
    { contents: [{ role: 'user', parts: [{ text: LONG }] }], surprise: 1 },
    {
      contents: [
        { role: 'user', parts: [{ text: 'x' }] },
        { role: 'model', parts: [{ functionCall: { name: 'n' } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'n' } }, { text: 'x' }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'a', parameters: {} }, { name: 'a' }] }],
    },
  ],
  mistral: [
    { messages: [], surprise: 1 },
    { messages: [{ role: 'user', content: LONG }], tools: twice({}) },
  ],
  bedrock: [
    { messages: [{ role: 'user', content: [] }], surprise: 1 },
    {
      messages: [
        { role: 'user', content: [{ text: LONG }] },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'forged' } } },
            { toolUse: { toolUseId: 'a', name: 'n', input: [] } },
          ],
        },
      ],
    },
    { messages: [], toolConfig: { tools: [{ toolSpec: { name: 'a' } }, { toolSpec: { name: 'a' } }] } },
  ],
  'openai-compatible': [{ messages: [{ role: 'user', content: LONG }], tools: twice({}) }],
};

function twice(parameters: object): readonly { readonly function: object }[] {
  return [{ function: { name: 'a', parameters } }, { function: { name: 'a', parameters } }];
}

describe('conversations as the world brings them', () => {
  test('are refused by every family before they are made fit; with some more requests, for each of its rules', async () => {
    const { broken }: Verdict = await judged(UNFIT_COUNT, 0, false);
    const all = new Set(broken.keys());
    for (const { name, rules, judge } of FAMILIES) {
      expect([...all].some((rule) => rule.startsWith(`${name}/`))).toBe(true);
      for (const { rule } of BODIES[name]!.flatMap(judge)) all.add(rule);
      expect(Object.keys(rules).filter((rule) => !all.has(`${name}/${rule}`))).toEqual([]);
    }
  });

  test('are taken by every family once they are made fit', async () => {
    const { broken, unread, requests } = await judged(FIT_COUNT, runSeed());
    expect([...broken, ...unread], `from seed ${runSeed()}`).toEqual([]);
    expect(requests).toBe(FIT_COUNT * FAMILIES.length);
  });
});
