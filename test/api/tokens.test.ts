/** An effect that waits for its confirmation: everybody sees that somebody must confirm it, and under which token who may. */

import { connect } from '@tidemark/client';
import { mayDo, ROLES, type Role } from '@tidemark/ports';
import { defineEffect, defineWorkflow, pending, task } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

const TOKEN = 'shop-4711';
const order = defineEffect({
  operation: 'shop.order',
  kind: 'irreversible',
  request: z.object({}),
  response: z.object({}),
  call: () => pending(TOKEN),
});
const parcel = defineWorkflow({
  ...{ name: 'parcel', version: 1, input: z.object({}), belief: z.object({}), output: z.object({}) },
  tasks: { send: z.object({}) },
  flow: { send: [] },
  effects: [order],
  begin: () => ({ belief: {}, next: [task('send', {})] }),
  steps: { send: async (ctx) => ({ done: await ctx.effect(order, {}) }) },
});

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [parcel] });
  await connect({ url: served.url, token: 'admin' }).start('parcel', {}, { id: 'p' });
  await eventually(async () => (await text('admin', '')).includes('"confirmation"'));
});
afterAll(() => served.close());

const text = async (role: Role, path: string): Promise<string> => {
  const headers = { authorization: `Bearer ${role}` };
  return (await fetch(`${served.url}/v1/workflows/p${path}`, { headers })).text();
};

/** What is told until the effect's events have come. */
async function followed(role: Role): Promise<string> {
  const ended = new AbortController();
  const notes: string[] = [];
  const client = connect({ url: served.url, token: role });
  for await (const { data } of client.run('p').events({ signal: ended.signal })) {
    notes.push(JSON.stringify(data));
    if (JSON.stringify(data).includes('EffectPending')) break;
  }
  ended.abort();
  return notes.join('\n');
}

const MAY_CONFIRM: readonly Role[] = ['worker', 'admin'];
/** Whoever may read at all: an autoscaler is refused, whatever it asks. */
const READERS = ROLES.filter((role) => mayDo({ roles: [role] }, 'read'));

it.each(READERS)('is told to a role of %s with its token only where that may confirm it', async (role) => {
  const maySee = MAY_CONFIRM.includes(role);
  const answers = {
    view: await text(role, ''),
    tasks: await text(role, '/tasks'),
    line: await text(role, '/timeline'),
  };
  for (const [of, answer] of Object.entries(answers)) expect([of, answer.includes(TOKEN)]).toEqual([of, maySee]);
  expect(answers.tasks).toContain('"on":"confirmation"');
  expect(answers.line).toContain('EffectPending');
  expect((await followed(role)).includes(TOKEN)).toBe(maySee);
});

it('is told so once it was confirmed, too', async () => {
  await connect({ url: served.url, token: 'worker' }).run('p').confirm(TOKEN, { response: {} });
  for (const role of READERS) {
    const notes = await text(role, '/notes');
    expect(notes).toContain('EffectConfirmed');
    expect([role, notes.includes(TOKEN)]).toEqual([role, MAY_CONFIRM.includes(role)]);
  }
});
