/**
 * Owns the tests of compensation from end to end: a worker dies in doubt, and another compensates the effects, each once, though it dies as
 * well.
 */

import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

const ledger: string[] = [];

const hotel = defineEffect({
  operation: 'hotel.book',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({ room: z.number() }),
  call: async () => ({ room: 7 }),
  compensate: async ({ room }, { key }) => void ledger.push(`cancel ${room} (${key})`),
});

const wire = defineEffect({
  operation: 'bank.wire',
  kind: 'irreversible',
  request: z.object({ cents: z.number() }),
  response: z.object({}),
  call: async () => ({}),
  compensate: async () => void ledger.push('claim back'),
  compensateUnknown: async ({ cents }) => void ledger.push(`claim back ${cents}, if it was paid`),
});

const trip = defineWorkflow({
  name: 'trip',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { book: z.object({}), pay: z.object({}) },
  flow: { book: ['pay'], pay: [] },
  effects: [hotel, wire],
  begin: () => ({ belief: {}, next: [task('book', {})] }),
  steps: {
    async book(ctx) {
      await ctx.effect(hotel, {});
      return { next: [task('pay', {})] };
    },
    async pay(ctx) {
      await ctx.effect(wire, { cents: 9_900 });
      return { done: {} };
    },
  },
});

let world: TestWorld;
beforeEach(async () => {
  ledger.length = 0;
  world = await testWorld({ workflows: [trip] });
});
afterEach(() => world.close());

const UNDONE = ['claim back 9900, if it was paid', 'cancel 7 (t~undo:1.1:hotel.book~undo:0)'];

it('undoes what was done and what may have been, newest first', async () => {
  const run = await world.start(trip, {}, { id: 't' });
  world.crash({ after: 'call', operation: 'bank.wire' });
  await expect(world.fastForward(run.result())).rejects.toMatchObject({ code: 'workflow-compensated' });
  expect(ledger).toEqual(UNDONE);
  expect(world.calls(wire)).toHaveLength(1);
});

it.each(['EffectIntended', 'EffectResolved', 'CheckpointCommitted'] as const)(
  'goes on with the compensation when whoever did it dies after %s',
  async (after) => {
    const run = await world.start(trip, {}, { id: 't' });
    world.crash({ after: 'call', operation: 'bank.wire' });
    const where = after === 'CheckpointCommitted' ? { step: 'undo' } : { operation: 'bank.wire~undo-unknown' };
    world.crash({ after, ...where });
    await expect(world.fastForward(run.result())).rejects.toMatchObject({ code: 'workflow-compensated' });
    expect(world.crashCount).toBe(2);
    expect(ledger).toEqual(UNDONE);
  },
);
