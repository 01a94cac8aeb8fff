/** Owns the guide on sagas: three bookings that are there together, or undone. */

import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { ask } from './outside.ts';

const bookable = (what: string) =>
  defineEffect({
    operation: `${what}.book`,
    kind: 'idempotent',
    request: z.object({ trip: z.string() }),
    response: z.object({ id: z.string() }),
    call: async ({ trip }, { key }) => ({ id: await ask(`${what} ${trip}`, key) }),
    compensate: ({ id }, { key }) => ask(`cancel ${id}`, key),
    retry: { nonRetryable: ['effect-not-done'] }, // a full hotel stays full
  });
const [flight, hotel, car] = [bookable('flight'), bookable('hotel'), bookable('car')];

export const bookTrip = defineWorkflow({
  name: 'book-trip',
  version: 1,
  input: z.object({ trip: z.string() }),
  belief: z.object({ ids: z.array(z.string()) }),
  output: z.object({ ids: z.array(z.string()) }),
  tasks: { fly: z.object({}), sleep: z.object({}), drive: z.object({}) },
  flow: { fly: ['sleep'], sleep: ['drive'], drive: [] },
  effects: [flight, hotel, car],
  onFailure: 'compensate',
  begin: () => ({ belief: { ids: [] }, next: [task('fly', {})] }),
  steps: {
    fly: async (ctx) => {
      const { id } = await ctx.effect(flight, ctx.input);
      return { belief: ({ ids }) => ({ ids: [...ids, id] }), next: [task('sleep', {})] };
    },
    sleep: async (ctx) => {
      const { id } = await ctx.effect(hotel, ctx.input);
      return { belief: ({ ids }) => ({ ids: [...ids, id] }), next: [task('drive', {})] };
    },
    drive: async (ctx) => {
      const { id } = await ctx.effect(car, ctx.input);
      return { done: { ids: [...ctx.belief.ids, id] } };
    },
  },
});
