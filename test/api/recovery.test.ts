/** What the next holder of a workflow would do, over HTTP: what is told to whom, and which probes are asked. */

import { connect } from '@tidemark/client';
import { defineEffect, defineWorkflow, task, unknown } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { asking, type Served, sayingAuthenticator, serveApi } from './served.ts';

const nothing = z.object({});
let probedCount = 0;

/** Its probe keeps the receiver from taking a late call: asking it changes something. */
const barring = defineEffect({
  operation: 'gate.open',
  kind: 'irreversible',
  request: nothing,
  response: nothing,
  call: () => {
    throw new Error('the line went dead');
  },
  probe: () => {
    probedCount++;
    return unknown();
  },
  probeFences: true,
  retry: { attempts: 1 },
});
const gated = defineWorkflow({
  name: 'gated',
  version: 1,
  input: nothing,
  belief: nothing,
  output: nothing,
  tasks: { open: nothing },
  flow: { open: [] },
  effects: [barring],
  begin: () => ({ belief: {}, next: [task('open', {})] }),
  steps: { open: async (ctx) => ({ done: await ctx.effect(barring, {}) }) },
});

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [asking, gated] });
  for (const [definition, id, input] of [
    ['asking', 'undecided', { cents: 700 }],
    ['gated', 'gate', {}],
  ] as const) {
    await client().start(definition, input, { id, tenant: 'acme' });
    await eventually(async () => (await client().run(id).get()).status === 'parked');
  }
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });
const plan = (workflow: string, token: string, query: { probe?: 'true' } = {}) =>
  client(token).ask('GET /v1/workflows/{workflow}/recovery', { params: { workflow }, query });

it('is told from what is stored: nobody is asked, and nothing changes', async () => {
  const before = await client().run('undecided').get();
  const reported = await plan('undecided', 'approver acme');
  expect(reported).toMatchObject({
    ...{ workflow: 'undecided', status: 'parked', definition: 'asking v1', probes_asked: false, lease: null },
    ...{ checkpoint: null, next: { kind: 'needs-person' } },
    effects: [{ operation: 'bank.wire', status: 'intended', of: 'pending-task', probe: 'registered', said: null }],
  });
  expect(reported.question).toEqual(before.question);
  expect(await client().run('undecided').get()).toEqual(before);
});

it('asks probes for who may operate, and none that bars late calls', async () => {
  expect((await plan('undecided', 'operator acme', { probe: 'true' })).effects).toMatchObject([
    { said: 'unknown', outcomes: [{ answer: 'unknown', action: 'ask-person' }] },
  ]);
  const before = probedCount;
  const reported = await plan('gate', 'operator acme', { probe: 'true' });
  expect(reported.effects).toMatchObject([{ said: null, problem: expect.stringContaining('bars late calls') }]);
  expect(probedCount).toBe(before);
  await expect(plan('undecided', 'approver acme', { probe: 'true' })).rejects.toMatchObject({
    code: 'right-missing',
  });
});

it('is for who may see content, and of their own tenant', async () => {
  await expect(plan('undecided', 'viewer acme')).rejects.toMatchObject({ status: 403, code: 'right-missing' });
  await expect(plan('undecided', 'operator globex')).rejects.toMatchObject({
    status: 404,
    code: 'workflow-unknown',
  });
});
