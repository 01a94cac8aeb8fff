/** The next version of agents/ticks-1.ts: the sum has another name, and its step too. */
import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { input, mark, output, tick, work } from './ticking.ts';

export const ticks = defineWorkflow({
  name: 'ticks',
  version: 2,
  input,
  belief: z.object({ total: z.number() }),
  output,
  tasks: { count: tick },
  flow: { count: ['count'] },
  effects: [mark],
  upcast: {
    1: {
      belief: ({ sum }: { sum: number }) => ({ total: sum }),
      tasks: { tick: ({ step }: { step: number }) => task('count', { step }) },
    },
  },
  begin: () => ({ belief: { total: 0 }, next: [task('count', { step: 1 })] }),
  steps: {
    async count(ctx, { step }) {
      await work(ctx.workflow, step, ctx.input.ms);
      const { last } = await ctx.effect(mark, { run: ctx.workflow, step });
      const total = ctx.belief.total + step;
      if (last) return { done: { steps: step, sum: total } };
      return { belief: () => ({ total }), next: [task('count', { step: step + 1 })] };
    },
  },
});
