// One question, one answer, said word by word. The model answers by rule, so that it runs without a key; put one of @tidemark/ai in its place.

import { setTimeout as wait } from 'node:timers/promises';
import type { Model } from '@tidemark/runtime';
import { defineWorkflow, task } from '@tidemark/sdk';
import { tokenizerFor } from '@tidemark/tokenizer';
import { z } from 'zod';

const WORD_PAUSE_MS = Number(process.env.CHAT_PAUSE_MS ?? '120');

/** As another attempt of a real model would, that of another process has other words. */
const answer = `Process ${process.pid} answers: workers come and go like the tide, and what they have done stays in the log as a mark. Whoever takes over reads it, and begins this sentence anew, so that nobody reads half of one answer and half of another.`;

const tokenizer = tokenizerFor();
const model: Model = {
  provider: 'rule',
  modelId: 'words-1',
  tokenizer,
  maxOutputTokens: 1_000,
  timeoutMs: 120_000,
  retry: { attempts: 3, firstDelayMs: 100, factor: 2, maxDelayMs: 1_000, jitter: 1, nonRetryable: [] },
  costMicros: () => 0,
  answer: async ({ messages }, { onDelta, signal }) => {
    for (const text of answer.match(/\S+\s*/g) ?? []) {
      onDelta({ kind: 'text', text });
      await wait(WORD_PAUSE_MS, undefined, { signal });
    }
    const usage = {
      inputTokens: tokenizer.count(JSON.stringify(messages)),
      outputTokens: tokenizer.count(answer),
      cachedInputTokens: 0,
      reasoningTokens: 0,
    };
    return { text: answer, toolCalls: [], finishReason: 'stop', usage, detail: null };
  },
};

export const chat = defineWorkflow({
  name: 'chat',
  version: 1,
  input: z.object({ question: z.string() }),
  belief: z.object({}),
  output: z.object({ text: z.string() }),
  tasks: { reply: z.object({}) },
  flow: { reply: [] },
  models: { default: model },
  begin: () => ({ belief: {}, next: [task('reply', {})] }),
  steps: {
    async reply(ctx) {
      const { text } = await ctx.model({ prompt: ctx.input.question, stream: true });
      return { done: { text } };
    },
  },
});
