/** Schedules over HTTP: made, changed, listed with their slots, fired; what is no schedule is refused. */

import { connect } from '@tidemark/client';
import type { WorkflowId } from '@tidemark/core';
import { traceIdOf } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { traceOf } from '@tidemark/traces';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator });
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });
const params = { schedule: 'nightly' };
const set = (body: object) =>
  client().ask('PUT /v1/schedules/{schedule}', {
    params,
    body: { definition: 'greet', cron: '0 2 * * *', input: { name: 'Ana' }, ...body },
  });

it('is made, changed, listed and fired', async () => {
  expect(await set({ time_zone: 'Europe/Berlin', overlap: 'allow' })).toEqual({ schedule: 'nightly', created: true });
  const list = async (token?: string) => (await client(token).ask('GET /v1/schedules', { query: {} })).schedules;
  await eventually(async () => (await list()).length === 1);
  const [listed] = await list();
  expect(listed).toMatchObject({
    ...{ schedule: 'nightly', definition: 'greet', status: 'open', cron: '0 2 * * *', time_zone: 'Europe/Berlin' },
    ...{ overlap: 'allow', catch_up: 1, input: { name: 'Ana' }, last_run: null, started_count: 0 },
  });
  expect(listed?.next).toHaveLength(5);
  expect((await list('viewer'))[0]).not.toHaveProperty('input');
  const fire = () =>
    client().ask('POST /v1/schedules/{schedule}/fire', { params, body: { at: '2026-01-05T09:00:00+01:00' } });
  const fired = await fire();
  expect(await fire()).toEqual(fired);
  await eventually(async () => (await list())[0]?.started_count === 1);
  const run = (await list())[0]!.last_run!;
  expect(fired).toEqual({ schedule: 'nightly', run });
  expect(run).toBe('nightly@2026-01-05T08:00:00.000Z');
  expect(await client().run(run).result()).toEqual({ text: 'Hello, Ana!' });
  const { spans } = await traceOf(served.host.ports, run as WorkflowId);
  const root = spans.find(({ parentSpanId }) => parentSpanId === null);
  expect(root?.links).toMatchObject([
    { traceId: traceIdOf(run.split('@')[0] as WorkflowId), attributes: { 'tidemark.link': 'caller' } },
  ]);
  const schedule = await traceOf(served.host.ports, run.split('@')[0] as WorkflowId);
  expect(schedule.spans.map(({ spanId }) => spanId)).toContain(root?.links[0]?.spanId);
  expect(await set({ cron: '0 0 1 1 *' })).toEqual({ schedule: 'nightly', created: false });
  await eventually(async () => (await list())[0]?.cron === '0 0 1 1 *');
});

it.each([
  ['a pattern that is none', { cron: 'x' }, 400, 'schedule-invalid'],
  ['a time zone that is none', { time_zone: 'Mars/X' }, 400, 'schedule-invalid'],
  ['a field for the slot that the input does not have', { slot_field: 'nofield' }, 400, 'schedule-invalid'],
  ['an input that does not fit', { input: {} }, 400, 'input-invalid'],
  ['an unknown workflow', { definition: 'nobody' }, 404, 'definition-unknown'],
  ['an unknown field', { every: 5 }, 400, 'request-invalid'],
])('with %s is refused', async (_, body, status, code) => {
  await expect(set(body)).rejects.toMatchObject({ status, code });
});

it('takes a field for the slot that the input has (control)', async () => {
  const answer = await client().ask('PUT /v1/schedules/{schedule}', {
    params: { schedule: 'slotted' },
    body: { definition: 'greet', cron: '0 2 * * *', slot_field: 'name' },
  });
  expect(answer).toMatchObject({ created: true });
});

it('names a wrong field as the body does', async () => {
  await expect(set({ time_zone: 'Mars/X' })).rejects.toThrow(/^time_zone: /);
  await expect(set({ slot_field: 'nofield' })).rejects.toThrow(
    /^slot_field: the input of greet has no field 'nofield'/,
  );
});

it('that is none can not be fired', async () => {
  const run = await client().start('patient', {}, { id: 'no-schedule' });
  const fire = (schedule: string) =>
    client().ask('POST /v1/schedules/{schedule}/fire', { params: { schedule }, body: {} });
  await expect(fire(run.id)).rejects.toMatchObject({ code: 'schedule-unknown' });
  await expect(fire('nobody')).rejects.toMatchObject({ status: 404, code: 'schedule-unknown' });
});
