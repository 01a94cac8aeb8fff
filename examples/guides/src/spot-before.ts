/** Owns the guide on spot instances: one long step, as a script would be. */

import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { complete } from './outside.ts';

export const labelAtOnce = defineWorkflow({
  name: 'label-at-once',
  version: 1,
  input: z.object({ tickets: z.array(z.string()) }),
  belief: z.object({}),
  output: z.object({ labels: z.array(z.string()) }),
  tasks: { label: z.object({}) },
  flow: { label: [] },
  begin: () => ({ belief: {}, next: [task('label', {})] }),
  steps: {
    label: async ({ input }) => {
      const labels: string[] = [];
      for (const ticket of input.tickets) labels.push(await complete(ticket));
      return { done: { labels } };
    },
  },
});
