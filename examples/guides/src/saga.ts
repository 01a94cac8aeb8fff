/** Owns the guide on sagas: three bookings that are there together, or undone. */

import { defineEffect, defineFunction } from '@tidemark/sdk';
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

export const bookTrip = defineFunction({
  name: 'book-trip',
  version: 1,
  input: z.object({ trip: z.string() }),
  output: z.object({ ids: z.array(z.string()) }),
  effects: [flight, hotel, car],
  onFailure: 'compensate',
  async run(ctx, trip) {
    const ids: string[] = [];
    for (const booking of [flight, hotel, car]) ids.push((await ctx.effect(booking, trip)).id);
    return { ids };
  },
});
