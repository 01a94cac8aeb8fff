/** Local providers: their own packages read what they answer, and each of their rules is noticed when it is broken. */

import { model } from '@tidemark/ai';
import type { EffectKey } from '@tidemark/core';
import type { ModelPrompt } from '@tidemark/runtime';
import { describe, expect, test } from 'vitest';
import { FAMILIES } from './families/index.ts';
import { CUT_CALL, type Family } from './judge.ts';
import { LOCAL, Provider } from './server.ts';

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

const asked = (family: Family, provider: Provider, isStreamed: boolean) =>
  model(family.languageModel(provider.fetch, LOCAL)).answer(
    prompt,
    { key: 'w:0.0:model:0' as EffectKey, signal: new AbortController().signal, onDelta: () => {} },
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
});
