/** Owns the workflow of the stream test: its model says numbered words of its process until a file says that the answer is whole. */

import { access } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Model } from '@tidemark/runtime';
import { defineWorkflow, task } from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { z } from 'zod';

const WORD_PAUSE_MS = 10;

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const quiet = testModel(() => '');
const model: Model = {
  ...quiet,
  timeoutMs: 300_000,
  answer: async ({ messages }, { onDelta }) => {
    const [{ text: file = '' } = {}] = messages[0]!.content as readonly { readonly text?: string }[];
    let text = '';
    for (let word = 1; !(await isThere(file)); word++) {
      const said = `${process.pid}:${word} `;
      text += said;
      onDelta({ kind: 'text', text: said });
      await sleep(WORD_PAUSE_MS);
    }
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };
    return { text, toolCalls: [], finishReason: 'stop', usage, detail: null };
  },
};

export const counting = defineWorkflow({
  name: 'test-counting',
  version: 1,
  input: z.object({ file: z.string() }),
  belief: z.object({}),
  output: z.object({ text: z.string() }),
  tasks: { tell: z.object({}) },
  flow: { tell: [] },
  models: { default: model },
  begin: () => ({ belief: {}, next: [task('tell', {})] }),
  steps: {
    tell: async (ctx) => ({ done: { text: (await ctx.model({ prompt: ctx.input.file, stream: true })).text } }),
  },
});
