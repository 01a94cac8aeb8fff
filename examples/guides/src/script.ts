/** Owns the guide on moving a plain script: the same as a workflow. */

import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { ask } from './outside.ts';

const mail = defineEffect({
  operation: 'mail.send',
  kind: 'idempotent', // the mail service takes a key once; without that: 'irreversible', with a probe
  request: z.object({ to: z.string(), text: z.string() }),
  response: z.object({ id: z.string() }),
  call: async ({ to, text }, { key }) => ({ id: await ask(`mail ${to}: ${text}`, key) }),
});

export const remind = defineWorkflow({
  name: 'remind',
  version: 1,
  input: z.object({ customers: z.array(z.string()) }),
  belief: z.object({ sentCount: z.int() }),
  output: z.object({ sentCount: z.int() }),
  tasks: { next: z.object({ at: z.int() }) },
  flow: { next: ['next'] },
  effects: [mail],
  begin: () => ({ belief: { sentCount: 0 }, next: [task('next', { at: 0 })] }),
  steps: {
    next: async (ctx, { at }) => {
      const customer = ctx.input.customers[at];
      if (customer === undefined) return { done: { sentCount: ctx.belief.sentCount } };
      const text = await ctx.run('draft', () => ask(`draft ${customer}`)); // its result is recorded
      await ctx.effect(mail, { to: customer, text });
      return { belief: ({ sentCount }) => ({ sentCount: sentCount + 1 }), next: [task('next', { at: at + 1 })] };
    },
  },
});
