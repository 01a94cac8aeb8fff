/**
 * Owns an example of what a workflow does when things go wrong: effects that are undone, also when nobody knows whether they
 * happened; one that is accepted at once and confirmed later; bounds on calls, attempts and steps.
 */

import { defineEffect, defineWorkflow, pending, task } from '@tidemark/sdk';
import { z } from 'zod';
import { book, strike } from './ledger.ts';

const order = z.object({ orderId: z.string(), cents: z.number().int() });

/** Holds an amount. Undone by what it answered, or, when its outcome is unknown, by what was asked. */
export const hold = defineEffect({
  operation: 'ledger.hold',
  kind: 'idempotent',
  request: order,
  response: z.object({ entry: z.string() }),
  call: async ({ orderId, cents }, { key, heartbeat }) => {
    heartbeat({ done: 0, total: 1 }); // the call is alive: it has heartbeatTimeoutMs more
    return { entry: await book(key, { account: orderId, cents }) };
  },
  compensate: ({ entry }) => strike(entry),
  compensateUnknown: ({ orderId, cents }, { key }) => book(key, { account: orderId, cents: -cents }),
  timeoutMs: 60_000,
  heartbeatTimeoutMs: 10_000,
  retry: { attempts: 3, firstDelayMs: 500, nonRetryable: ['account-closed'] },
});

/** The carrier takes the parcel at once, and says hours later whether it arrived. */
export const ship = defineEffect({
  operation: 'carrier.ship',
  kind: 'irreversible',
  request: order,
  response: z.object({ parcel: z.string() }),
  call: async ({ orderId }) => pending(`parcel-${orderId}`),
  confirm: { probeEveryMs: 60_000, timeoutMs: 3 * 24 * 60 * 60 * 1_000 }, // after three days a person is asked
});

export const purchase = defineWorkflow({
  name: 'purchase',
  version: 1,
  input: order,
  belief: z.object({}),
  output: z.object({ parcel: z.string() }),
  tasks: { pay: z.object({}), send: z.object({}) },
  flow: { pay: ['send'], send: [] },
  effects: [hold, ship],
  onFailure: 'compensate',
  stepBudget: 100,
  begin: () => ({ belief: {}, next: [task('pay', {})] }),
  steps: {
    async pay(ctx) {
      await ctx.effect(hold, ctx.input);
      return { next: [task('send', {})] };
    },
    send: async (ctx) => ({ done: await ctx.effect(ship, ctx.input) }),
  },
});
