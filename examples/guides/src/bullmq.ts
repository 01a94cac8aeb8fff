/** Owns the guide on moving from BullMQ: the same as a workflow. */

import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { ask } from './outside.ts';

const request = z.object({ order: z.string() });
const response = z.object({ id: z.string() });

const charge = defineEffect({
  ...{ operation: 'payments.charge', kind: 'idempotent', request, response },
  call: async ({ order }, { key }) => ({ id: await ask(`charge ${order}`, key) }),
  retry: { attempts: 5 },
});
const ship = defineEffect({
  ...{ operation: 'carrier.ship', kind: 'idempotent', request, response },
  call: async ({ order }, { key }) => ({ id: await ask(`ship ${order}`, key) }),
});

export const fulfil = defineWorkflow({
  name: 'fulfil',
  version: 1,
  input: request,
  priority: 2,
  limits: () => [{ key: 'fulfil', concurrency: 10 }],
  belief: z.object({ charge: z.string().optional() }),
  output: z.object({ charge: z.string() }),
  tasks: { charge: z.object({}), ship: z.object({ charge: z.string() }) },
  flow: { charge: ['ship'], ship: [] },
  effects: [charge, ship],
  begin: () => ({ belief: {}, next: [task('charge', {})] }),
  steps: {
    charge: async (ctx) => {
      const { id } = await ctx.effect(charge, ctx.input);
      return { belief: () => ({ charge: id }), next: [task('ship', { charge: id })] };
    },
    ship: async (ctx, { charge }) => {
      await ctx.effect(ship, ctx.input);
      return { done: { charge } };
    },
  },
});
