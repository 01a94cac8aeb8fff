/** Owns the example of the page "A function or an agent", as belief, frontier and steps. */

import { anyOf, approval, defineWorkflow, task, timer } from '@tidemark/sdk';
import { z } from 'zod';
import { orderOf } from './outside.ts';
import { credit } from './refund-items.ts';

const item = z.object({ item: z.string(), cents: z.int() });

export const refundItemsSteps = defineWorkflow({
  name: 'refund-items-steps',
  version: 1,
  input: z.object({ order: z.string() }),
  belief: z.object({ items: z.array(item) }),
  output: z.object({ credits: z.array(z.string()) }),
  tasks: { look: z.object({}), decide: z.object({}), credit: item, end: z.object({}) },
  outputs: { credit: z.object({ id: z.string() }) },
  flow: { look: ['decide', 'credit', 'end'], decide: ['credit', 'end'], credit: [], end: [] },
  approvals: { refund: z.object({ note: z.string() }) },
  effects: [credit],
  begin: () => ({ belief: { items: [] }, next: [task('look', {})] }),
  steps: {
    async look({ input: { order } }) {
      const { cents, items } = await orderOf(order);
      const asked = approval('refund', { assignee: 'group:leads', title: `Refund ${cents} cents for ${order}?` });
      if (cents > 50_000)
        return { belief: () => ({ items }), next: [task('decide', {}, { when: anyOf(asked, timer('2d')) })] };
      return { next: creditsOf(items) };
    },
    decide({ cause, belief }) {
      if (cause?.kind !== 'approval' || !cause.approved) return { done: { credits: [] } };
      return { next: creditsOf(belief.items) };
    },
    async credit(ctx, { item, cents }) {
      return { output: await ctx.effect(credit, { order: ctx.input.order, item, cents }) };
    },
    async end(ctx) {
      return { done: { credits: (await ctx.outputs('credit')).map(({ id }) => id) } };
    },
  },
});

const creditsOf = (items: readonly z.infer<typeof item>[]) => [
  ...items.map((each) => task('credit', { ...each })),
  task('end', {}, { after: 'all' }),
];
