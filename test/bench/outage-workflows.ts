/** Owns the agents of `bench -- outage`: each asks a model twice, which is behind one provider with a declared limit, and then is done. */

import { defineWorkflow, task } from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { z } from 'zod';

/** What the provider allows. */
export const PROVIDER_RATE = { count: 500, per: '10s' } as const;

/** A model that is asked over HTTP, as providers' are: its faults have the status of the answer. */
const model = {
  ...testModel(() => ''),
  retry: {
    ...testModel(() => '').retry,
    attempts: 5,
    patienceMs: 86_400_000,
    firstDelayMs: 1_000,
    factor: 2,
    maxDelayMs: 300_000,
    jitter: 1,
  },
  limits: [{ key: 'provider', rate: PROVIDER_RATE }],
  answer: async (_prompt: unknown, { signal }: { readonly signal: AbortSignal }) => {
    const answer = await fetch(process.env.BENCH_PROVIDER_URL!, { method: 'POST', signal });
    await answer.arrayBuffer();
    if (!answer.ok) throw Object.assign(new Error(`status ${answer.status}`), { status: answer.status });
    const usage = { inputTokens: 10, outputTokens: 10, cachedInputTokens: 0, reasoningTokens: 0 };
    return { text: 'yes', toolCalls: [], finishReason: 'stop', usage, detail: null };
  },
};

export const agent = defineWorkflow({
  name: 'bench-agent',
  version: 1,
  input: z.object({ n: z.int() }),
  belief: z.object({}),
  output: z.object({ said: z.string() }),
  tasks: { think: z.object({ turn: z.int() }) },
  flow: { think: ['think'] },
  starts: ['think'],
  models: { default: model },
  begin: () => ({ belief: {}, next: [task('think', { turn: 1 })] }),
  steps: {
    async think(ctx, { turn }) {
      const { text } = await ctx.model({ prompt: `agent ${ctx.input.n}, turn ${turn}` });
      return turn < 2 ? { next: [task('think', { turn: turn + 1 })] } : { done: { said: text } };
    },
  },
});
