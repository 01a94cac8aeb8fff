/** Owns the guide on spot instances: the same, cut where a machine may go. */

import { defineFunction } from '@tidemark/sdk';
import { z } from 'zod';
import { complete } from './outside.ts';

export const label = defineFunction({
  name: 'label',
  version: 1,
  input: z.object({ tickets: z.array(z.string()) }),
  output: z.object({ labels: z.array(z.string()) }),
  parallel: 8,
  async run(ctx, { tickets }) {
    return { labels: await ctx.all(tickets.map((ticket) => () => ctx.run('model', () => complete(ticket)))) };
  },
});
