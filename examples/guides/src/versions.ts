/** Owns what docs/versions.md shows: a refund whose second version goes on with what its first one stored. */

import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { z } from 'zod';

export const refundV1 = defineWorkflow({
  name: 'refund',
  version: 1,
  input: z.object({ orderId: z.string() }),
  belief: z.object({ price: z.number() }),
  output: z.object({ cents: z.number() }),
  tasks: { pay: z.object({ price: z.number() }) },
  flow: { pay: [] },
  signals: { go: z.null() },
  onFailure: 'retry-on-new-build',
  begin: () => ({ belief: { price: 12 }, next: [task('pay', { price: 12 }, { when: signal('go') })] }),
  steps: { pay: (_, { price }) => ({ done: { cents: price * 100 } }) },
});

export const refund = defineWorkflow({
  name: 'refund',
  version: 2,
  input: z.object({ orderId: z.string() }),
  belief: z.object({ cents: z.number() }), // was: price, in whole coins
  output: z.object({ cents: z.number() }),
  tasks: { credit: z.object({ cents: z.number().int() }) }, // was: pay
  flow: { credit: [] },
  signals: { go: z.null() },
  upcast: {
    1: {
      belief: (b: { price: number }) => ({ cents: b.price * 100 }),
      tasks: { pay: ({ price }: { price: number }) => task('credit', { cents: price * 100 }) },
    },
  },
  begin: () => ({ belief: { cents: 1_200 }, next: [task('credit', { cents: 1_200 }, { when: signal('go') })] }),
  steps: { credit: ({ belief }, { cents }) => ({ done: { cents: Math.min(cents, belief.cents) } }) },
});
