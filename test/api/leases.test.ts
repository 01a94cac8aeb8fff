/** What workers hold, over HTTP: whose, on which worker, page by page. */

import { connect } from '@tidemark/client';
import { defineWorkflow, task } from '@tidemark/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

const { promise: released, resolve: release } = Promise.withResolvers<void>();
const busy = defineWorkflow({
  ...{ name: 'busy', version: 1, input: z.object({}), belief: z.object({}), output: z.object({}) },
  tasks: { end: z.object({}) },
  flow: { end: [] },
  begin: () => ({ belief: {}, next: [task('end', {})] }),
  steps: { end: () => released.then(() => ({ done: {} })) },
});

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [busy], checksAnswers: true });
});
afterAll(() => served.close());

it('is listed for whoever may see the workflow, of one worker where it is named, until it is let go', async () => {
  const client = (token: string) => connect({ url: served.url, token });
  const leases = (token: string, query = {}) => client(token).ask('GET /v1/leases', { query });
  const idsOf = async (...of: Parameters<typeof leases>) =>
    (await leases(...of)).leases.map(({ workflow }) => workflow);
  for (const id of ['a1', 'a2']) await client('operator acme').start('busy', {}, { id });
  await client('operator globex').start('busy', {}, { id: 'g1' });
  await expect.poll(() => idsOf('viewer')).toEqual(['a1', 'a2', 'g1']);
  expect(await idsOf('viewer acme')).toEqual(['a1', 'a2']);
  expect(await idsOf('viewer', { tenant: 'globex' })).toEqual(['g1']);
  await expect(idsOf('viewer acme', { tenant: 'globex' })).rejects.toMatchObject({ code: 'tenant-unknown' });
  const first = await leases('viewer', { limit: 2 });
  expect(await leases('viewer', { limit: 2, cursor: first.next_cursor })).toMatchObject({
    leases: [{ workflow: 'g1', tenant: 'globex', definition: 'busy', epoch: 1 }],
    next_cursor: null,
  });
  const { holder } = first.leases[0]!;
  await expect
    .poll(async () => (await leases('viewer', { worker: holder })).leases.map(({ alive }) => alive))
    .toEqual([true, true, true]);
  expect(await idsOf('viewer', { worker: 'another' })).toEqual([]);
  release();
  await expect.poll(() => idsOf('viewer')).toEqual([]);
});
