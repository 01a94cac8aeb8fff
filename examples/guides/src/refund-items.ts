/** Owns the example of the page "A function or an agent", as a function. */

import { defineEffect, defineFunction } from '@tidemark/sdk';
import { z } from 'zod';
import { ask, orderOf } from './outside.ts';

export const credit = defineEffect({
  operation: 'payments.credit',
  kind: 'idempotent',
  request: z.object({ order: z.string(), item: z.string(), cents: z.int() }),
  response: z.object({ id: z.string() }),
  call: async ({ item, cents }, { key }) => ({ id: await ask(`credit ${item} ${cents}`, key) }),
});

export const refundItems = defineFunction({
  name: 'refund-items',
  version: 1,
  input: z.object({ order: z.string() }),
  output: z.object({ credits: z.array(z.string()) }),
  approvals: { refund: z.object({ note: z.string() }) },
  effects: [credit],
  async run(ctx, { order }) {
    const { cents, items } = await ctx.run('order', () => orderOf(order));
    if (cents > 50_000) {
      const asked = ctx.approval('refund', { assignee: 'group:leads', title: `Refund ${cents} cents for ${order}?` });
      const first = await ctx.race({ asked, late: ctx.sleep('2d') });
      if (first.name === 'late' || !first.value.approved) return { credits: [] };
    }
    const made = await ctx.all(items.map((item) => () => ctx.effect(credit, { order, ...item })));
    return { credits: made.map(({ id }) => id) };
  },
});
