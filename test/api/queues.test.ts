/** Queues that are held over HTTP: whose, by whom, and for how long: as long as the log says so, whatever else is lost. */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { connect } from '@tidemark/client';
import type { TenantId } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { greet, patient, type Served, sayingAuthenticator, serveApi } from './served.ts';

const options = { authenticator: sayingAuthenticator, definitions: [greet, patient] };
let served: Served;
beforeAll(async () => {
  served = await serveApi(options);
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });
const steer = (act: 'pause' | 'resume', queue: string, token = 'admin', body = {}) =>
  client(token).ask(`POST /v1/queues/{queue}/${act}`, { params: { queue }, body: { why: 'a test', ...body } });
const statusOf = async (id: string) => (await client().run(id).get()).status;
const start = (id: string, token = 'admin') => client(token).start('greet', { name: 'Ana' }, { id });

it('is held while log and rows go on, and when rows, queue and processes are gone; then it goes on', async () => {
  expect(await steer('pause', 'greet')).toEqual({ queue: 'greet', tenant: null, changed: true, held: true });
  expect(await steer('pause', 'greet')).toMatchObject({ changed: false });
  await start('waiting');
  await eventually(async () => (await statusOf('waiting')) === 'open');
  const held = [{ tenant: null, by: 'admin-of-undefined', why: 'a test', since: expect.stringMatching(/^2/) }];
  await expect
    .poll(() => client().ask('GET /v1/queues', { query: {} }))
    .toEqual({ queues: [{ queue: 'greet', tenant: 'default', ready_count: 1, running_count: 0, held }] });
  const fleet = await client().ask('GET /v1/fleet', { query: {} });
  expect(fleet.held_queues).toMatchObject([{ queue: 'greet', tenant: null }]);
  // Who may not see content isn't told why.
  const { queues } = await client('viewer').ask('GET /v1/queues', { query: {} });
  expect(queues[0]!.held[0]).not.toHaveProperty('why');

  await served.close({ keepsFolder: true });
  await rm(path.join(served.folder, 'state', 'rows'), { recursive: true });
  served = await serveApi({ ...options, folder: served.folder });
  await start('later');
  // The control: what is not held goes on by then.
  await client().start('patient', {}, { id: 'other' });
  await client().run('other').signal('go', 1);
  await eventually(async () => (await statusOf('other')) === 'completed');
  expect([await statusOf('waiting'), await statusOf('later')]).toEqual(['open', 'open']);

  expect(await steer('resume', 'greet')).toMatchObject({ changed: true, held: false });
  await eventually(
    async () => (await statusOf('waiting')) === 'completed' && (await statusOf('later')) === 'completed',
  );
  expect(await client().ask('GET /v1/queues', { query: {} })).toEqual({ queues: [] });
});

it("of one tenant is that tenant's own to hold and to see, and holds nobody else's", async () => {
  expect(await steer('pause', 'greet', 'operator acme')).toMatchObject({ tenant: 'acme', changed: true });
  await start('acmes', 'operator acme');
  await start('globexes', 'operator globex');
  await eventually(async () => (await statusOf('globexes')) === 'completed');
  expect(await statusOf('acmes')).toBe('open');
  expect(await client('operator globex').ask('GET /v1/queues', { query: {} })).toEqual({ queues: [] });
  await expect(steer('resume', 'greet', 'operator globex', { tenant: 'acme' })).rejects.toMatchObject({
    code: 'tenant-unknown',
  });
  await steer('resume', 'greet', 'operator acme');
  await eventually(async () => (await statusOf('acmes')) === 'completed');
});

it.each([
  ['the system itself', 'tidemark.bulk', {}, 400, 'queue-system'],
  ['an undo', 'greet~undo', {}, 400, 'queue-derived'],
  ['control characters', 'a\u0000b', {}, 400, 'request-invalid'],
  ['far too much', 'x'.repeat(900), {}, 400, 'request-invalid'],
  ['no reason', 'greet', { why: ' ' }, 400, 'request-invalid'],
  ['an unknown field', 'greet', { __proto__x: 1, definition: 'y' }, 400, 'request-invalid'],
  ["a tenant's name of controls", 'greet', { tenant: 'a\u0007' }, 400, 'request-invalid'],
])('named by %s is refused', async (_, queue, body, status, code) => {
  await expect(steer('pause', queue, 'admin', body)).rejects.toMatchObject({ status, code });
});

it('is named as it is, whatever it looks like', async () => {
  for (const queue of ['../../etc/passwd', '<b>x</b>', "'; drop table workflows; --", '__proto__']) {
    expect(await steer('pause', queue, 'admin', { future: true })).toMatchObject({ queue, changed: true });
    expect(await steer('resume', queue)).toMatchObject({ queue, held: false });
  }
});

it('is of a definition that its caller can know of, or of one that is said to come', async () => {
  const unknown = { status: 404, code: 'definition-unknown' };
  // `retired` is loaded nowhere any more, and globex has a workflow of it.
  const retired = { ...patient, name: 'retired' };
  const { id } = await served.host.client.start(retired, { times: 1 }, { tenant: 'globex' as TenantId });
  await eventually(async () => (await served.host.ports.store.workflow(id)) !== undefined);
  for (const queue of ['grete', 'retired']) {
    for (const act of ['pause', 'resume'] as const) {
      await expect(steer(act, queue, 'operator acme')).rejects.toMatchObject(unknown);
    }
    await expect(steer('pause', queue, 'operator acme', { future: true })).rejects.toMatchObject({ status: 403 });
  }
  await expect(steer('pause', 'grete')).rejects.toThrow(
    'Known here: greet, patient. To pause it before its first workflow',
  );
  expect(await client('operator acme').ask('GET /v1/queues', { query: {} })).toEqual({ queues: [] });

  expect(await steer('pause', 'retired', 'operator globex')).toMatchObject({ tenant: 'globex', changed: true });
  expect(await steer('pause', 'retired')).toMatchObject({ tenant: null, changed: true });
  expect(await steer('pause', 'grete', 'admin', { future: true })).toMatchObject({ changed: true });
  expect(await steer('pause', 'grete')).toMatchObject({ changed: false });
  for (const queue of ['retired', 'grete']) await steer('resume', queue);
});
