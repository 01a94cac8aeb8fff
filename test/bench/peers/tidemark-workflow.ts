/**
 * Owns the workflow by which Tidemark is measured beside its peers: the text of a step is in its belief, and the next one's is made from it;
 * and the function that does the same.
 */

import { defineFunction, defineWorkflow, signal, task } from '@tidemark/sdk';
import { z } from 'zod';
import { isWoken, WAKE } from './workspace/protocol.ts';
import { doStep } from './workspace/step.ts';

const given = z.object({
  id: z.string(),
  steps: z.int().positive(),
  mode: z.enum(['quiet', 'timed', 'paced', 'woken']),
  bytes: z.int().positive(),
});

export const peersSteps = defineWorkflow({
  name: 'bench-peers',
  version: 1,
  durability: 'durable',
  input: given,
  belief: z.object({ payload: z.string() }),
  output: z.object({ payload: z.string() }),
  tasks: { step: z.object({ n: z.int() }) },
  flow: { step: ['step'] },
  signals: { [WAKE]: z.null() },
  starts: ['step'],
  begin: () => ({ belief: { payload: '' }, next: [task('step', { n: 1 })] }),
  steps: {
    async step(ctx, { n }) {
      const payload = await doStep(ctx.input, n, ctx.belief.payload);
      const belief = () => ({ payload });
      const when = isWoken(ctx.input, n + 1) ? { when: signal(WAKE) } : {};
      if (n < ctx.input.steps) return { belief, next: [task('step', { n: n + 1 }, when)] };
      return { belief, done: { payload } };
    },
  },
});

export const peersCalls = defineFunction({
  name: 'bench-peers-calls',
  version: 1,
  input: given,
  output: z.object({ payload: z.string() }),
  signals: { [WAKE]: z.null() },
  async run(ctx, input) {
    let payload = '';
    for (let n = 1; n <= input.steps; n++) {
      const previous = payload;
      if (isWoken(input, n)) await ctx.signal(WAKE);
      payload = await ctx.run('step', () => doStep(input, n, previous));
    }
    return { payload };
  },
});
