/** Bulk jobs over HTTP: begun, seen to progress, by whom they may be seen; what would do too much is refused. */

import { connect } from '@tidemark/client';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator });
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });
const start = (body: object, token?: string) =>
  client(token).ask('POST /v1/jobs', {
    body: { act: 'pause', filter: { definition: 'patient' }, why: 'a test', ...body } as never,
  });

it('is begun once for its id, done, and tells how far it is', async () => {
  for (const id of ['one', 'two', 'three']) {
    const run = await client().start('patient', {}, { id });
    await eventually(async () => (await run.get()).status === 'open');
  }
  expect(await start({ id: 'freeze' })).toEqual({ job: 'freeze', created: true });
  expect(await start({ id: 'freeze' })).toEqual({ job: 'freeze', created: false });
  const get = () => client().ask('GET /v1/jobs/{job}', { params: { job: 'freeze' } });
  // At once: it is waited for until rows have it.
  await eventually(async () => (await get()).status === 'completed');
  expect(await get()).toMatchObject({ act: 'pause', why: 'a test', done_count: 3, refused_count: 0, refused: [] });
  expect(await client().run('two').get()).toMatchObject({ reason: 'paused' });
  const stop = (job: string, token?: string) =>
    client(token).ask('POST /v1/jobs/{job}/cancel', { params: { job }, body: { why: 'too late' } });
  await expect(stop('freeze')).rejects.toMatchObject({ status: 409, code: 'workflow-closed' });
  await expect(stop('freeze', 'operator globex')).rejects.toMatchObject({ status: 404, code: 'job-unknown' });
  const { jobs } = await client('viewer').ask('GET /v1/jobs', { query: {} });
  expect(jobs.map(({ job }) => job)).toEqual(['freeze']);
  expect(jobs[0]).not.toHaveProperty('why');
});

it('is counted before by the rule that it goes by: schedules that it does not name are left out', async () => {
  await client().start('patient', {}, { id: 'counted', tags: ['counted'], tenant: 'acme' } as never);
  const body = { definition: 'patient', input: {}, cron: '0 0 1 1 *', tenant: 'acme' };
  await client().ask('PUT /v1/schedules/{schedule}', { params: { schedule: 'counted-plan' }, body });
  const found = async (filter: object, token = 'viewer acme') =>
    client(token).ask('POST /v1/jobs/count', { body: { filter } });
  await eventually(async () => (await client().list({ text: 'counted' })).workflows.length === 2);
  const one = { count: 1, has_more: false, statuses: { open: 1 }, newest: ['counted'] };
  expect(await found({ text: 'counted' })).toEqual(one);
  expect(await found({ tags: ['counted'] })).toEqual(one);
  expect(await found({ definition: 'patient~schedule' })).toMatchObject({ count: 1 });
  expect(await found({ text: 'counted' }, 'viewer globex')).toMatchObject({ count: 0 });
  await expect(found({ definition: 'tidemark.bulk' })).rejects.toMatchObject({ code: 'definition-unknown' });
});

it('has its id to itself within its tenant', async () => {
  const begin = (token: string) => start({ id: 'nightly', filter: { text: 'nothing-fits' } }, token);
  expect(await begin('operator acme')).toMatchObject({ created: true });
  expect(await begin('operator globex')).toMatchObject({ created: true });
  const get = (token: string, tenant?: string) =>
    client(token).ask('GET /v1/jobs/{job}', { params: { job: 'nightly' }, query: { tenant } });
  for (const tenant of ['acme', 'globex']) {
    await eventually(() => get(`viewer ${tenant}`).catch(() => undefined));
    expect(await get(`viewer ${tenant}`)).toMatchObject({ job: 'nightly', tenant });
    expect(await get('viewer', tenant)).toMatchObject({ tenant });
  }
  await expect(get('viewer')).rejects.toMatchObject({ status: 400, code: 'job-ambiguous' });
  await expect(get('viewer acme', 'globex')).rejects.toMatchObject({ code: 'tenant-unknown' });
});

it.each([
  ['no filter', { filter: {} }, 400, 'filter-missing'],
  ['a tenant alone', { filter: { tenant: 'default' } }, 400, 'filter-missing'],
  ['no tag', { filter: { tags: [] } }, 400, 'filter-missing'],
  ['a text without words', { filter: { text: '*' } }, 400, 'filter-missing'],
  ['an unknown filter', { filter: { definitions: 'x' } }, 400, 'request-invalid'],
  ['a signal of another act', { signal: { name: 'go' } }, 400, 'signal-invalid'],
  ["the system's own", { filter: { definition: 'tidemark.audit' } }, 404, 'definition-unknown'],
])('with %s is refused', async (_, body, status, code) => {
  await expect(start(body)).rejects.toMatchObject({ status, code });
});

it('that answers questions needs the right to decide', async () => {
  await expect(start({ act: 'retry' }, 'operator')).rejects.toMatchObject({ status: 403, code: 'right-missing' });
});

it('that nobody began is unknown', async () => {
  const asked = client().ask('GET /v1/jobs/{job}', { params: { job: 'nobody' } });
  await expect(asked).rejects.toMatchObject({ status: 404, code: 'job-unknown' });
});

it('is stopped, unless it was done before', async () => {
  await start({ id: 'stopped', act: 'pause', filter: { text: 'nothing-fits' } });
  const params = { job: 'stopped' };
  const stop = () => client().ask('POST /v1/jobs/{job}/cancel', { params, body: { why: 'a mistake' } });
  // Its row follows the log.
  await eventually(() =>
    stop().then(
      () => true,
      ({ code }: { readonly code: string }) => code === 'workflow-closed',
    ),
  );
  const { status, reason } = await eventually(async () => {
    const job = await client().ask('GET /v1/jobs/{job}', { params });
    return job.status === 'open' ? undefined : job;
  });
  // A step that ends it while it is being stopped has ended it.
  expect([
    ['completed', null],
    ['failed', 'cancelled'],
  ]).toContainEqual([status, reason]);
});
