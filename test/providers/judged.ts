/** Owns judging conversations: each is sent by every provider's own package to its local judge. */

import { model } from '@tidemark/ai';
import type { EffectKey } from '@tidemark/core';
import type { Model, ModelPrompt } from '@tidemark/runtime';
import { type Conversation, conversationOf } from './conversations.ts';
import { FAMILIES } from './families/index.ts';
import { LOCAL, Provider } from './server.ts';

const OUTPUT_TOKENS = 500;
const context = () => ({ key: 'w:0.0:model:0' as EffectKey, signal: new AbortController().signal, onDelta: () => {} });

export interface Verdict {
  readonly conversations: number;
  readonly requests: number;
  readonly families: readonly string[];
  /** How often each rule was broken, and the first seed that broke it. */
  readonly broken: ReadonlyMap<string, { readonly count: number; readonly seed: number; readonly at: string }>;
  /** What packages or we refused before anything was sent, by its code or name. */
  readonly unsent: ReadonlyMap<string, number>;
}

/** Judges the conversations of so many seeds, whole and streamed by turns. */
export async function judged(count: number, from = 1): Promise<Verdict> {
  const broken = new Map<string, { count: number; seed: number; at: string }>();
  const unsent = new Map<string, number>();
  const asked = FAMILIES.map((family) => {
    const provider = new Provider(family);
    return { provider, model: model(family.languageModel(provider.fetch, LOCAL)) };
  });
  let requests = 0;
  for (let seed = from; seed < from + count; seed++) {
    const conversation = conversationOf(seed);
    for (const { provider, model: of } of asked) {
      const before = provider.bodies.length;
      await ask(of, conversation).catch((error: { readonly code?: string; readonly message: string }) => {
        if (provider.bodies.length > before) return;
        const why = `${provider.family.name}: ${error.message.slice(0, 160)}`;
        unsent.set(why, (unsent.get(why) ?? 0) + 1);
      });
      requests += provider.bodies.length - before;
      for (const { rule, at } of provider.broken.splice(0)) {
        const known = broken.get(rule);
        if (known === undefined) broken.set(rule, { count: 1, seed, at });
        else known.count += 1;
      }
      provider.bodies.length = 0;
    }
  }
  return { conversations: count, requests, families: FAMILIES.map(({ name }) => name), broken, unsent };
}

async function ask(of: Model, { seed, messages, tools }: Conversation): Promise<void> {
  const prompt: ModelPrompt = {
    messages,
    raw: undefined,
    tools,
    responseSchema: null,
    settings: { maxOutputTokens: OUTPUT_TOKENS },
  };
  await of.answer(prompt, context(), seed % 2 === 0);
}
