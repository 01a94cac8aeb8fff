/** Owns the guide on moving from BullMQ: the same as a function. */

import { defineEffect, defineFunction } from '@tidemark/sdk';
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

export const fulfil = defineFunction({
  name: 'fulfil',
  version: 1,
  input: request,
  output: z.object({ charge: z.string() }),
  priority: 2,
  limits: () => [{ key: 'fulfil', concurrency: 10 }],
  effects: [charge, ship],
  async run(ctx, order) {
    const { id } = await ctx.effect(charge, order);
    await ctx.effect(ship, order);
    return { charge: id };
  },
});
