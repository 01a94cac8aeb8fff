/** Owns the guide on human approval: a question that holds no process, is asked again after a while, and is bounded by a form. */

import { defineEffect, defineFunction } from '@tidemark/sdk';
import { z } from 'zod';
import { ask } from './outside.ts';

export const pay = defineEffect({
  operation: 'payments.refund',
  kind: 'idempotent',
  request: z.object({ order: z.string(), cents: z.int() }),
  response: z.object({ refund: z.string() }),
  call: async ({ order, cents }, { key }) => ({ refund: await ask(`refund ${order} ${cents}`, key) }),
});

export const refundOrder = defineFunction({
  name: 'refund-order',
  version: 1,
  input: z.object({ order: z.string(), cents: z.int() }),
  output: z.object({ refund: z.string().nullable(), by: z.string() }),
  approvals: { refund: z.object({ cents: z.int().min(1).max(50_000) }) },
  effects: [pay],
  async run(ctx, { order, cents }) {
    // Small amounts need nobody.
    if (cents <= 1_000) return { ...(await ctx.effect(pay, { order, cents })), by: 'rule' };
    // Two days without an answer: somebody else is asked, and a second time; then it ends.
    for (const assignee of ['group:support', 'group:leads', 'group:leads']) {
      const asked = ctx.approval('refund', { assignee, title: `Refund ${cents} cents for ${order}?` });
      const { name, value } = await ctx.race({ asked, late: ctx.sleep('2d') });
      if (name === 'late') continue;
      if (!value.approved) return { refund: null, by: value.by };
      const { refund } = await ctx.effect(pay, { order, cents: value.value.cents });
      return { refund, by: value.by };
    }
    return { refund: null, by: 'nobody' };
  },
});
