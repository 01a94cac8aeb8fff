/**
 * An effect with a key: a credit is booked in a ledger outside the workflow. The key is the same for every attempt,
 * whoever makes it, so a run that dies around the call and goes on elsewhere books the credit once.
 *
 * Input: `{ "orderId": "8821", "paidCents": 9900, "daysUsed": 10, "daysPaid": 30 }`.
 */

import { defineEffect, defineWorkflow, done, notDone, task } from '@tidemark/sdk';
import { z } from 'zod';
import { book, entryOf, strike } from './ledger.ts';

export const issueCredit = defineEffect({
  operation: 'ledger.credit',
  kind: 'irreversible',
  request: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  response: z.object({ creditId: z.string() }),
  call: async ({ orderId, cents }, { key }) => ({ creditId: await book(key, { account: orderId, cents }) }),
  probe: async (key) => {
    const creditId = await entryOf(key);
    return creditId === null ? notDone() : done({ creditId });
  },
  compensate: ({ creditId }) => strike(creditId),
  // A successor that finds the call open and not done waits this long before it calls itself: the dead may still be at it.
  timeoutMs: 2_000,
});

export const refund = defineWorkflow({
  name: 'refund',
  version: 1,
  input: z.object({
    orderId: z.string(),
    paidCents: z.number().int().positive(),
    daysUsed: z.number().int().min(0),
    daysPaid: z.number().int().positive(),
  }),
  belief: z.object({ cents: z.number().optional(), creditId: z.string().optional() }),
  output: z.object({ creditId: z.string().nullable(), cents: z.number() }),
  tasks: { price: z.object({}), credit: z.object({ cents: z.number().int() }) },
  flow: { price: ['credit'], credit: [] },
  effects: [issueCredit],
  begin: () => ({ belief: {}, next: [task('price', {})] }),
  steps: {
    async price({ input }) {
      const cents = Math.floor((input.paidCents * Math.max(0, input.daysPaid - input.daysUsed)) / input.daysPaid);
      if (cents === 0) return { done: { creditId: null, cents } };
      return { belief: (b) => ({ ...b, cents }), next: [task('credit', { cents })] };
    },
    async credit(ctx, { cents }) {
      const { creditId } = await ctx.effect(issueCredit, { orderId: ctx.input.orderId, cents });
      return { belief: (b) => ({ ...b, creditId }), done: { creditId, cents } };
    },
  },
});
