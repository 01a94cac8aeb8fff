/**
 * The usual outside: an order is charged over HTTP with an idempotency key, booked in Postgres exactly once, and its receipt
 * is a file written once.
 *
 * Input: `{ "orderId": "8821", "cents": 9900 }`. Addresses are in the environment: `PAYMENTS_URL`, `PAYMENTS_TOKEN`,
 * `BOOKS_URL` (with a table `bookings (order_id text, cents int)`), `RECEIPTS_DIR`.
 */

import { join } from 'node:path';
import { fileEffect, httpEffect, sqlEffect } from '@tidemark/effects';
import { defineWorkflow, done, notDone, task, unknown } from '@tidemark/sdk';
import pg from 'pg';
import { z } from 'zod';

const order = z.object({ orderId: z.string().regex(/^[a-z0-9-]+$/i), cents: z.number().int().positive() });
const charged = z.object({ id: z.string() });

const payments = (path: string, method: string, json?: unknown) => ({
  url: `${process.env.PAYMENTS_URL}${path}`,
  method,
  headers: { authorization: `Bearer ${process.env.PAYMENTS_TOKEN}` },
  ...(json !== undefined && { json }),
});

export const charge = httpEffect({
  operation: 'payments.charge',
  kind: 'irreversible',
  request: order,
  response: charged,
  send: (request) => payments('/charges', 'POST', request),
  probe: {
    send: (key) => payments(`/charges?key=${encodeURIComponent(key)}`, 'GET'),
    judge: (answer) => {
      if (answer.status === 200) return done(charged.parse(answer.json()));
      return answer.status === 404 ? notDone() : unknown();
    },
  },
  compensate: { send: ({ id }) => payments(`/charges/${id}`, 'DELETE') },
  timeoutMs: 10_000,
});

let pool: pg.Pool | undefined;
/** Made at the first use: a workflow's file is loaded in many places that never call. */
const books = (): pg.Pool => {
  pool ??= new pg.Pool({ connectionString: process.env.BOOKS_URL, max: 4 })
    // A connection that dies at rest is replaced; without a listener it would end the process.
    .on('error', () => undefined);
  return pool;
};
export const closeBooks = async (): Promise<void> => pool?.end();

export const book = sqlEffect({
  operation: 'books.book',
  request: order,
  response: z.object({ bookingCount: z.number().int() }),
  pool: books,
  run: async (tx, { orderId, cents }) => {
    await tx.query('insert into bookings (order_id, cents) values ($1, $2)', [orderId, cents]);
    const { rows } = await tx.query('select count(*) from bookings where order_id = $1', [orderId]);
    return { bookingCount: Number(rows[0].count) };
  },
});

export const writeReceipt = fileEffect({
  operation: 'receipts.write',
  request: order.extend({ chargeId: z.string() }),
  path: ({ orderId }) => join(process.env.RECEIPTS_DIR ?? '.tidemark/receipts', `${orderId}.txt`),
  content: ({ orderId, cents, chargeId }) => `Order ${orderId}: ${cents} cents, charge ${chargeId}\n`,
});

export const sell = defineWorkflow({
  name: 'sell',
  version: 1,
  input: order,
  belief: z.object({}),
  output: z.object({ chargeId: z.string(), receipt: z.string() }),
  tasks: { pay: z.object({}), file: charged },
  flow: { pay: ['file'], file: [] },
  effects: [charge, book, writeReceipt],
  begin: () => ({ belief: {}, next: [task('pay', {})] }),
  steps: {
    async pay(ctx) {
      const { id } = await ctx.effect(charge, ctx.input);
      await ctx.effect(book, ctx.input);
      return { next: [task('file', { id })] };
    },
    async file(ctx, { id }) {
      const { path } = await ctx.effect(writeReceipt, { ...ctx.input, chargeId: id });
      return { done: { chargeId: id, receipt: path } };
    },
  },
});
