/** Who may fork what over HTTP: effects that people were asked about are called again by nobody who may not decide; all else is as for any run. */

import { connect } from '@tidemark/client';
import { AccessError, tenantId } from '@tidemark/core';
import type { Authenticator, Role } from '@tidemark/ports';
import { approval, child, defineEffect, defineWorkflow, task, unknown } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { askSomebody, greet, type Served, serveApi } from './served.ts';

const nothing = z.object({});

let isLineDead = false;
let paidCount = 0;
const pay = defineEffect({
  operation: 'bank.pay',
  kind: 'irreversible',
  request: nothing,
  response: nothing,
  async call() {
    if (isLineDead) throw new Error('the line went dead');
    paidCount++;
    return {};
  },
  probe: () => unknown(),
  retry: { attempts: 1 },
});

const shape = { version: 1, input: nothing, belief: z.object({ calm: z.boolean() }), output: nothing, effects: [pay] };
const calm = { calm: true };

/** Pays once somebody has approved of it. */
const signed = defineWorkflow({
  ...shape,
  name: 'signed',
  approvals: { pay: z.object({ cents: z.int() }) },
  tasks: { hear: nothing, pay: nothing },
  flow: { hear: ['pay'], pay: [] },
  begin: () => ({ belief: calm, next: [task('hear', {}, { when: approval('pay') })] }),
  steps: {
    hear: () => ({ next: [task('pay', {})] }),
    pay: async (ctx) => ({ done: await ctx.effect(pay, {}) }),
  },
});

/** Pays, and pays once more. */
const paying = defineWorkflow({
  ...shape,
  name: 'paying',
  tasks: { first: nothing, second: nothing },
  flow: { first: ['second'], second: [] },
  begin: () => ({ belief: calm, next: [task('first', {})] }),
  steps: {
    async first(ctx) {
      await ctx.effect(pay, {});
      return { next: [task('second', {})] };
    },
    second: async (ctx) => ({ done: await ctx.effect(pay, {}) }),
  },
});

/** Pays when its child has ended, which asks somebody or nobody. */
const parent = (name: string, one: typeof askSomebody | typeof greet, input: object) =>
  defineWorkflow({
    ...shape,
    name,
    children: { one: one as typeof greet },
    tasks: { hear: nothing, pay: nothing },
    flow: { hear: ['pay'], pay: [] },
    begin: () => ({ belief: calm, next: [task('hear', {}, { when: child('one', input as { name: string }) })] }),
    steps: {
      hear: () => ({ next: [task('pay', {})] }),
      pay: async (ctx) => ({ done: await ctx.effect(pay, {}) }),
    },
  });

/** `Bearer ROLE+ROLE`, of acme. */
const authenticator: Authenticator = {
  async authenticate({ authorization }) {
    if (authorization === undefined) throw new AccessError('credentials-missing', 'Show credentials.');
    const roles = authorization.replace('Bearer ', '').split('+') as Role[];
    return { subject: roles.join('+'), tenant: tenantId('acme'), roles, kind: 'key' };
  },
};

let served: Served;
beforeAll(async () => {
  const parents = [parent('of-asking', askSomebody, {}), parent('of-greeting', greet, { name: 'Ana' })];
  served = await serveApi({ authenticator, definitions: [signed, paying, ...parents, askSomebody, greet] });
});
afterAll(() => served.close());
beforeEach(() => {
  isLineDead = false;
});

const as = (roles: string) => connect({ url: served.url, token: roles });
const [OPERATOR, BOTH] = ['operator', 'operator+approver'];
const fork = (workflow: string, roles: string, body: { at: number; effects: 'live' | 'replay'; belief?: object }) =>
  as(roles).ask('POST /v1/workflows/{workflow}/forks', { params: { workflow }, body });
const REFUSED = { status: 403, code: 'right-missing', message: expect.stringContaining("needs the right 'decide'") };
const paid = { at: 1, effects: 'live' } as const;
const known = (workflow: string) =>
  eventually(() =>
    as('viewer')
      .run(workflow)
      .get()
      .catch(() => undefined),
  );

async function approve(workflow: string, value: object): Promise<void> {
  const params = { workflow, task: '0.0' };
  const answer = () =>
    as('approver').ask('POST /v1/workflows/{workflow}/approvals/{task}', { params, body: { approved: true, value } });
  await eventually(() => answer().catch(() => undefined));
}

describe('a run that somebody has approved of', () => {
  beforeAll(async () => {
    const run = await as(OPERATOR).start('signed', {}, { id: 'signed' });
    await approve('signed', { cents: 5 });
    await run.result();
  });

  it('is forked live by those alone who may decide', async () => {
    const before = paidCount;
    await expect(fork('signed', OPERATOR, paid)).rejects.toMatchObject(REFUSED);
    await expect(fork('signed', 'worker', paid)).rejects.toMatchObject(REFUSED);
    await expect(fork('signed', 'approver', paid)).rejects.toMatchObject({ status: 403, code: 'right-missing' });
    expect(paidCount).toBe(before);
    for (const roles of [BOTH, 'admin']) {
      const { workflow } = await fork('signed', roles, paid);
      await as(OPERATOR).run(workflow).result();
    }
    expect(paidCount).toBe(before + 2);
  });

  it('is forked by others where it replays, and live before the answer: somebody is asked again', async () => {
    const before = paidCount;
    const replay = await fork('signed', OPERATOR, { at: 1, effects: 'replay' });
    await as(OPERATOR).run(replay.workflow).result();
    await expect(fork(replay.workflow, OPERATOR, { at: 0, effects: 'live' })).rejects.toMatchObject(REFUSED);
    const { workflow } = await fork('signed', OPERATOR, { at: 0, effects: 'live' });
    await eventually(async () => {
      const { approvals } = await as(OPERATOR).ask('GET /v1/approvals', { query: {} });
      return approvals.some((one) => one.workflow === workflow);
    });
    expect(paidCount).toBe(before);
  });
});

describe('a run that asked nobody', () => {
  beforeAll(async () => {
    await (await as(OPERATOR).start('paying', {}, { id: 'paying' })).result();
  });

  it('is forked live by whoever operates it, with its own belief', async () => {
    const before = paidCount;
    const { workflow } = await fork('paying', OPERATOR, paid);
    await as(OPERATOR).run(workflow).result();
    expect(paidCount).toBe(before + 1);
  });

  it('with another belief by those alone who may decide, also by way of a fork that replays', async () => {
    const belief = { calm: false };
    await expect(fork('paying', OPERATOR, { ...paid, belief })).rejects.toMatchObject(REFUSED);
    expect(await fork('paying', BOTH, { ...paid, belief })).toMatchObject({ created: true });
    const replay = await fork('paying', OPERATOR, { at: 1, effects: 'replay', belief });
    await known(replay.workflow);
    await expect(fork(replay.workflow, OPERATOR, { at: 0, effects: 'live' })).rejects.toMatchObject(REFUSED);
    expect(await fork(replay.workflow, BOTH, { at: 0, effects: 'live' })).toMatchObject({ created: true });
  });
});

it('a decision about an effect counts as well', async () => {
  isLineDead = true;
  const run = await as(OPERATOR).start('paying', {}, { id: 'doubted' });
  await eventually(async () => (await run.get()).status === 'parked');
  isLineDead = false;
  const body = { resolution: 'done', response: {}, why: 'the bank says so' } as const;
  await as('approver').ask('POST /v1/workflows/{workflow}/decisions', { params: { workflow: run.id }, body });
  await run.result();
  await expect(fork('doubted', OPERATOR, paid)).rejects.toMatchObject(REFUSED);
  expect(await fork('doubted', BOTH, paid)).toMatchObject({ created: true });
});

it('what was answered in a child counts as well, and a child that asked nobody doesn’t', async () => {
  const run = await as(OPERATOR).start('of-asking', {}, { id: 'asked' });
  await approve('asked~0.0', { cents: 5 });
  await run.result();
  await (await as(OPERATOR).start('of-greeting', {}, { id: 'greeted' })).result();
  await expect(fork('asked', OPERATOR, paid)).rejects.toMatchObject(REFUSED);
  expect(await fork('asked', BOTH, paid)).toMatchObject({ created: true });
  expect(await fork('greeted', OPERATOR, paid)).toMatchObject({ created: true });
});
