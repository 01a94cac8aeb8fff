/** Owns the guide on moving a plain script: the same as a function. */

import { defineEffect, defineFunction } from '@tidemark/sdk';
import { z } from 'zod';
import { ask } from './outside.ts';

const mail = defineEffect({
  operation: 'mail.send',
  kind: 'idempotent', // the mail service takes a key once; without that: 'irreversible', with a probe
  request: z.object({ to: z.string(), text: z.string() }),
  response: z.object({ id: z.string() }),
  call: async ({ to, text }, { key }) => ({ id: await ask(`mail ${to}: ${text}`, key) }),
});

export const remind = defineFunction({
  name: 'remind',
  version: 1,
  input: z.object({ customers: z.array(z.string()) }),
  output: z.object({ sentCount: z.int() }),
  effects: [mail],
  async run(ctx, { customers }) {
    for (const customer of customers) {
      const text = await ctx.run('draft', () => ask(`draft ${customer}`)); // its result is recorded
      await ctx.effect(mail, { to: customer, text });
    }
    return { sentCount: customers.length };
  },
});
