/** Owns the guide on human approval: a question that waits in the frontier, is asked again after a while, and is bounded by a form. */

import { anyOf, approval, defineEffect, defineWorkflow, task, timer } from '@tidemark/sdk';
import { z } from 'zod';
import { ask } from './outside.ts';

export const pay = defineEffect({
  operation: 'payments.refund',
  kind: 'idempotent',
  request: z.object({ order: z.string(), cents: z.int() }),
  response: z.object({ refund: z.string() }),
  call: async ({ order, cents }, { key }) => ({ refund: await ask(`refund ${order} ${cents}`, key) }),
});

export const refundOrder = defineWorkflow({
  name: 'refund-order',
  version: 1,
  input: z.object({ order: z.string(), cents: z.int() }),
  belief: z.object({ askedCount: z.int() }),
  output: z.object({ refund: z.string().nullable(), by: z.string() }),
  tasks: { check: z.object({}), decide: z.object({}) },
  flow: { check: ['decide'], decide: ['decide'] },
  approvals: { refund: z.object({ cents: z.int().min(1).max(50_000) }) },
  effects: [pay],
  begin: () => ({ belief: { askedCount: 0 }, next: [task('check', {})] }),
  steps: {
    check: async (ctx) => {
      const { order, cents } = ctx.input;
      // Small amounts need nobody.
      if (cents <= 1_000) return { done: { ...(await ctx.effect(pay, { order, cents })), by: 'rule' } };
      const asked = approval('refund', { assignee: 'group:support', title: `Refund ${cents} cents for ${order}?` });
      return { belief: () => ({ askedCount: 1 }), next: [task('decide', {}, { when: anyOf(asked, timer('2d')) })] };
    },
    decide: async (ctx) => {
      const { cause, belief, input } = ctx;
      if (cause?.kind === 'timer') {
        // Two days without an answer: somebody else is asked, and a second time; then it ends.
        if (belief.askedCount === 3) return { done: { refund: null, by: 'nobody' } };
        const asked = approval('refund', { assignee: 'group:leads', title: `Still open: ${input.order}` });
        return {
          belief: () => ({ askedCount: belief.askedCount + 1 }),
          next: [task('decide', {}, { when: anyOf(asked, timer('2d')) })],
        };
      }
      if (cause?.kind !== 'approval' || !cause.approved) return { done: { refund: null, by: cause?.by ?? 'nobody' } };
      const { refund } = await ctx.effect(pay, { order: input.order, cents: cause.value.cents });
      return { done: { refund, by: cause.by } };
    },
  },
});
