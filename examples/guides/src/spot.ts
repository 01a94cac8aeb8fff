/** Owns the guide on spot instances: the same, cut where a machine may go. */

import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { complete } from './outside.ts';

export const label = defineWorkflow({
  name: 'label',
  version: 1,
  input: z.object({ tickets: z.array(z.string()) }),
  belief: z.object({}),
  output: z.object({ labels: z.array(z.string()) }),
  tasks: { spread: z.object({}), label: z.object({ ticket: z.string() }), join: z.object({}) },
  outputs: { label: z.object({ label: z.string() }) },
  flow: { spread: ['label', 'join'], label: [], join: [] },
  begin: () => ({ belief: {}, next: [task('spread', {})] }),
  steps: {
    spread: ({ input }) => ({
      next: [...input.tickets.map((ticket) => task('label', { ticket })), task('join', {}, { after: 'all' })],
    }),
    label: async (ctx, { ticket }) => ({ output: { label: await ctx.run('model', () => complete(ticket)) } }),
    join: async (ctx) => ({ done: { labels: (await ctx.outputs('label')).map(({ label }) => label) } }),
  },
});
