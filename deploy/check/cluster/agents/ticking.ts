/**
 * Owns what runs on the cluster: steps of `ms` each, which add up their numbers. A step tells the receiver outside that it has begun, works, and
 * leaves its mark by an effect with a key, until the receiver says that this was the last one.
 */

import { hostname } from 'node:os';
import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

const OUTSIDE = process.env.MARKS_URL ?? '';
const ANSWER_MAX_MS = 5_000;

async function tell(what: string, body: object): Promise<unknown> {
  const response = await fetch(`${OUTSIDE}/${what}`, {
    method: 'POST',
    body: JSON.stringify({ ...body, pod: hostname(), sentMs: Date.now() }),
    signal: AbortSignal.timeout(ANSWER_MAX_MS),
  });
  if (!response.ok) throw new Error(`the receiver answered ${response.status}`);
  return response.json();
}

export const mark = defineEffect({
  operation: 'outside.mark',
  kind: 'idempotent',
  request: z.object({ run: z.string(), step: z.number() }),
  // The receiver says when it has seen enough.
  response: z.object({ last: z.boolean() }),
  call: async (request, { key }) => (await tell('mark', { ...request, key })) as { last: boolean },
});

export async function work(run: string, step: number, ms: number): Promise<void> {
  await tell('attempt', { run, step });
  await new Promise((resolve) => setTimeout(resolve, ms));
}

export const input = z.object({ ms: z.number() });
export const output = z.object({ steps: z.number(), sum: z.number() });
export const tick = z.object({ step: z.number() });

export const ticking = (name: string) =>
  defineWorkflow({
    name,
    version: 1,
    input,
    belief: z.object({ sum: z.number() }),
    output,
    tasks: { tick },
    flow: { tick: ['tick'] },
    effects: [mark],
    begin: () => ({ belief: { sum: 0 }, next: [task('tick', { step: 1 })] }),
    steps: {
      async tick(ctx, { step }) {
        await work(ctx.workflow, step, ctx.input.ms);
        const { last } = await ctx.effect(mark, { run: ctx.workflow, step });
        const sum = ctx.belief.sum + step;
        if (last) return { done: { steps: step, sum } };
        return { belief: () => ({ sum }), next: [task('tick', { step: step + 1 })] };
      },
    },
  });
