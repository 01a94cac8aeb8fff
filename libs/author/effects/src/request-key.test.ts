/** Keys that mean something to the receiver: runs whose requests are about the same thing send the same key, at every call and probe. */

import { defineWorkflow, done, notDone, task } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { httpEffect } from './http-effect.ts';
import { listen, type Seen } from './http-server-fixture.ts';

const order = z.object({ orderId: z.string(), cents: z.int() });
const charged = z.object({ id: z.string() });

/** A receiver that keeps its keys: charges by key. */
const charges = new Map<string, string>();
const seen: Seen[] = [];
let server: Awaited<ReturnType<typeof listen>>;
let world: TestWorld;

const chargeOf = (
  operation: string,
  extra: { keyFormat?: 'digest'; key?: (request: z.infer<typeof order>) => string },
) =>
  httpEffect({
    operation,
    kind: 'irreversible',
    request: order,
    response: charged,
    send: ({ cents }) => ({ url: `${server.url}/charges`, json: { cents } }),
    probe: {
      send: (key, { orderId }) => ({ url: `${server.url}/charges?order=${orderId}&key=${encodeURIComponent(key)}` }),
      judge: (answer) => (answer.status === 200 ? done(charged.parse(answer.json())) : notDone()),
    },
    probeFences: true,
    compensate: { send: ({ id }) => ({ url: `${server.url}/refunds`, json: { id } }) },
    ...extra,
  });
const key = ({ orderId }: { orderId: string }): string => `order ${orderId}`;
const EFFECTS = {
  keyed: chargeOf('pay.keyed', { key }),
  digest: chargeOf('pay.digest', { key, keyFormat: 'digest' }),
  own: chargeOf('pay.own', { keyFormat: 'digest' }),
  empty: chargeOf('pay.empty', { key: () => '' }),
};
const pay = defineWorkflow({
  name: 'pay',
  version: 1,
  input: order.extend({ by: z.enum(['keyed', 'digest', 'own', 'empty']) }),
  belief: z.object({}),
  output: charged,
  tasks: { one: z.object({}) },
  flow: { one: [] },
  effects: Object.values(EFFECTS),
  begin: () => ({ belief: {}, next: [task('one', {})] }),
  steps: {
    async one(ctx) {
      const { by, orderId, cents } = ctx.input;
      return { done: await ctx.effect(EFFECTS[by], { orderId, cents }) };
    },
  },
});
const refund = defineWorkflow({
  name: 'refund',
  version: 1,
  input: z.object({ by: z.enum(['keyed', 'digest', 'own']) }),
  belief: z.object({}),
  output: charged,
  tasks: { pay: z.object({}), fail: z.object({}) },
  flow: { pay: ['fail'], fail: [] },
  effects: Object.values(EFFECTS),
  onFailure: 'compensate',
  retry: { attempts: 1 },
  begin: () => ({ belief: {}, next: [task('pay', {})] }),
  steps: {
    async pay(ctx) {
      await ctx.effect(EFFECTS[ctx.input.by], { orderId: `refund-${ctx.input.by}`, cents: 5 });
      return { next: [task('fail', {})] };
    },
    async fail() {
      throw new Error('no');
    },
  },
});

beforeAll(async () => {
  server = await listen(seen, (request, response) => {
    const name = request.headers['idempotency-key'] ?? new URL(request.path, 'http://h').searchParams.get('key');
    if (request.method === 'POST' && !charges.has(String(name))) charges.set(String(name), `c${charges.size + 1}`);
    const id = charges.get(String(name));
    response.writeHead(id === undefined ? 404 : 200).end(JSON.stringify({ id }));
  });
  world = await testWorld({ workflows: [pay, refund] });
});
afterAll(async () => {
  await world?.close();
  server.server.closeAllConnections();
  await new Promise((resolve) => server.server.close(resolve));
});

const runFor = async (orderId: string, by: keyof typeof EFFECTS) => {
  const run = await world.start(pay, { orderId, cents: 5, by });
  return world.fastForward(run.result());
};

test.each(['keyed', 'digest'] as const)(
  '%s: two runs for one order pay once, and a run for another pays too',
  async (by) => {
    const before = charges.size;
    const [first, second] = [await runFor('8821', by), await runFor('8821', by)];
    expect(second).toEqual(first);
    expect(charges.size - before).toBe(1);
    expect(await runFor('8822', by)).not.toEqual(first);
  },
);

test('without key, each run pays (the control)', async () => {
  expect(await runFor('8821', 'own')).not.toEqual(await runFor('8821', 'own'));
});

test('a digest is short enough for every receiver, and holds nothing of the key', async () => {
  seen.length = 0;
  await runFor('8823', 'digest');
  expect(seen[0]!.headers['idempotency-key']).toMatch(/^[0-9a-f]{30}$/);
});

test.each(['digest', 'own'] as const)('%s: what undoes it fits a receiver that caps keys, too', async (by) => {
  const before = seen.length;
  const run = await world.start(refund, { by });
  await expect(world.fastForward(run.result())).rejects.toMatchObject({ code: 'workflow-compensated' });
  const [call, undo] = seen.slice(before).map(({ headers }) => String(headers['idempotency-key']));
  expect(undo).toMatch(/^[0-9a-f]{30}$/);
  expect(undo).not.toBe(call);
});

test('without a digest an undo sends its own key (the control)', async () => {
  const run = await world.start(refund, { by: 'keyed' });
  await expect(world.fastForward(run.result())).rejects.toMatchObject({ code: 'workflow-compensated' });
  expect(seen.at(-1)!.headers['idempotency-key']).toMatch(/~undo:.*pay\.keyed~undo:0$/);
});

test.each(['keyed', 'digest'] as const)(
  '%s: after a crash the probe gets the key as it was sent, and the request',
  async (by) => {
    seen.length = 0;
    const before = charges.size;
    world.crash({ after: 'call', operation: EFFECTS[by].operation });
    await runFor('8824', by);
    const [call, probe] = seen;
    const sent = decodeURIComponent(String(call!.headers['idempotency-key']));
    expect(probe!.path).toBe(
      `/charges?order=8824&key=${encodeURIComponent(call!.headers['idempotency-key'] as string)}`,
    );
    expect(sent === 'order 8824' || /^[0-9a-f]{30}$/.test(sent)).toBe(true);
    expect(charges.size - before).toBe(1);
  },
);

test('a key that names nothing is refused before anything is sent', async () => {
  seen.length = 0;
  await expect(runFor('8825', 'empty')).rejects.toThrow(/pay\.empty: key must return a text of 1 to/);
  expect(seen).toEqual([]);
});
