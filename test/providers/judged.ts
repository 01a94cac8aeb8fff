/**
 * Owns judging conversations: the messages of each are made fit and sent by every provider's own package to its local judge, whole and
 * streamed by turns.
 */

import { hash } from 'node:crypto';
import { model } from '@tidemark/ai';
import { assembleBundle, type BundleMessage, type EffectKey, PROMPT_FORMS, portablePrompt } from '@tidemark/core';
import type { Model, ToolSpec } from '@tidemark/runtime';
import { conversationOf } from '@tidemark/testkit/conversations';
import { tokenizerFor } from '@tidemark/tokenizer';
import { FAMILIES } from './families/index.ts';
import { LOCAL, Provider } from './server.ts';

const OUTPUT_TOKENS = 500;
/** More than any judge's context, by its rough count. */
const PROMPT_MAX_CHARS = 120_000;
const TOOLS: readonly ToolSpec[] = ['lookup', 'refund-order', 'escalate'].map((name) => ({
  name,
  description: 'Does it.',
  inputSchema: { type: 'object', properties: { order: { type: 'string' } }, additionalProperties: false },
}));

export interface Verdict {
  /** Those that could be asked. */
  readonly conversations: number;
  readonly requests: number;
  readonly families: readonly string[];
  /** How often each rule was broken, and the first seed that broke it. */
  readonly broken: ReadonlyMap<string, { readonly count: number; readonly seed: number; readonly at: string }>;
  /** Errors without a request, and answers that were not read. */
  readonly unread: ReadonlyMap<string, number>;
}

/** Judges so many conversations, from the seed on. `isFit`: they are made fit first, as the runtime does. */
export async function judged(count: number, from = 0, isFit = true): Promise<Verdict> {
  const court = new Court();
  let conversations = 0;
  for (let seed = from; conversations < count; seed++) {
    const messages = givenOf(seed);
    if (messages === undefined) continue;
    conversations += 1;
    await court.judge(seed, messages, isFit);
  }
  return { conversations, ...court };
}

class Court {
  readonly broken = new Map<string, { count: number; seed: number; at: string }>();
  readonly unread = new Map<string, number>();
  readonly families = FAMILIES.map(({ name }) => name);
  requests = 0;
  readonly #asked = FAMILIES.map((family) => {
    const provider = new Provider(family);
    return { provider, asked: model(family.languageModel(provider.fetch, LOCAL)) };
  });

  async judge(seed: number, messages: readonly BundleMessage[], isFit: boolean): Promise<void> {
    for (const { provider, asked } of this.#asked) {
      const sent = isFit ? portablePrompt(messages, asked.promptForm ?? PROMPT_FORMS[0]).messages : messages;
      const error = await ask(asked, sent, seed);
      const broken = provider.broken.splice(0);
      if (error !== undefined && broken.length === 0) {
        const why = `${provider.family.name}, seed ${seed}: ${error.message}`;
        this.unread.set(why, (this.unread.get(why) ?? 0) + 1);
      }
      for (const { rule, at } of broken) {
        const known = this.broken.get(rule) ?? { count: 0, seed, at };
        this.broken.set(rule, { ...known, count: known.count + 1 });
      }
      this.requests += provider.bodies.splice(0).length;
    }
  }
}

/** The messages of a seed's call before they are made fit; undefined: it can't be asked, or by nobody with so short a context. */
function givenOf(seed: number): readonly BundleMessage[] | undefined {
  const { input, prompt } = conversationOf(seed);
  try {
    const { messages } = assembleBundle(input, { tokenizer: tokenizerFor(), sha256: (text) => hash('sha256', text) });
    const given = [...messages, ...prompt];
    return given.length === 0 || JSON.stringify(given).length > PROMPT_MAX_CHARS ? undefined : given;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'bundle-newest-too-large') return undefined;
    throw error;
  }
}

async function ask(asked: Model, messages: readonly BundleMessage[], seed: number): Promise<Error | undefined> {
  const prompt = {
    messages,
    raw: undefined,
    tools: seed % 3 === 0 ? [] : TOOLS,
    responseSchema: null,
    settings: { maxOutputTokens: OUTPUT_TOKENS },
  };
  const { signal } = new AbortController();
  const context = { key: `w:0.0:model:${seed}` as EffectKey, signal, onDelta: () => {}, promptTokens: 0 };
  try {
    await asked.answer(prompt, context, seed % 2 === 0);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
