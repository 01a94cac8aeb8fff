/** What autoscalers are told over HTTP, to whom, and that asking reads no rows. */

import { type ApiOptions, createApi } from '@tidemark/api';
import { tenantId } from '@tidemark/core';
import type { Principal, Role } from '@tidemark/ports';
import { defineWorkflow, task } from '@tidemark/sdk';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { patient, type Served, serveApi } from './served.ts';

const ending = Promise.withResolvers<void>();
/** Its step takes as long as the test says. */
const long = defineWorkflow({
  name: 'long',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { work: z.object({}) },
  flow: { work: [] },
  begin: () => ({ belief: {}, next: [task('work', {})] }),
  steps: {
    async work() {
      await ending.promise;
      return { done: {} };
    },
  },
});

const authenticator: ApiOptions['authenticator'] = {
  authenticate: async ({ authorization }): Promise<Principal> => {
    const [role = '', tenant] = (authorization ?? '').slice('Bearer '.length).split('@');
    const whose = tenant === undefined ? null : tenantId(tenant);
    return { subject: `key:${role}`, tenant: whose, roles: [role as Role], kind: 'key' };
  },
};

let served: Served;

beforeAll(async () => {
  served = await serveApi({ definitions: [long, patient], authenticator, checksAnswers: true });
});
afterAll(async () => {
  ending.resolve();
  await served.close();
});

async function ask(url: string, who = 'scaler', app = served.app) {
  const answer = await app.inject({ url, headers: { authorization: `Bearer ${who}` } });
  return { status: answer.statusCode, body: answer.json() as Record<string, unknown> };
}

it('tells what is in progress for as long as it is, and nothing of what waits for a signal', async () => {
  const { client } = served.host;
  await client.start(patient, { times: 1 }, { id: 'waits' });
  await client.start(long, {}, { id: 'runs-1' });
  await client.start(long, {}, { id: 'runs-2' });
  const inProgress = { pool: 'default', in_flight: 2, backlog: 0, recovery_debt: 0, demand: 2, busy_workers: 1 };
  await vi.waitFor(async () => expect((await ask('/v1/scaling/default')).body).toMatchObject(inProgress), 60_000);
  expect((await ask('/v1/scaling')).body).toMatchObject({ pools: [{ ...inProgress, held: 0 }], unassigned: 0 });
  ending.resolve();
  const idle = { in_flight: 0, demand: 0, busy_workers: 0 };
  await vi.waitFor(async () => expect((await ask('/v1/scaling/default')).body).toMatchObject(idle), 60_000);
});

it('reads no rows to answer', async () => {
  const { host } = served;
  const calls: string[] = [];
  const { store } = host.ports;
  const counted = new Proxy(store, {
    get(_, name) {
      const member: unknown = Reflect.get(store, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        // Of the overview's pace, which is looked at now and then whoever asks.
        if (name !== 'positions') calls.push(String(name));
        return member.apply(store, args) as unknown;
      };
    },
  });
  const place = { ports: { ...host.ports, store: counted }, client: host.client, demand: host.demand };
  const app = await createApi({ place, definitions: [], authenticator });
  try {
    for (const path of ['/v1/scaling/default', '/v1/scaling'])
      expect(await ask(path, 'scaler', app)).toMatchObject({ status: 200 });
    expect(calls).toEqual([]);
    // A route that reads is seen to.
    expect(await ask('/v1/fleet', 'viewer', app)).toMatchObject({ status: 200 });
    expect(calls).toContain('leases');
  } finally {
    await app.close();
  }
});

it('tells it to callers of all tenants alone, and its role nothing else', async () => {
  expect(await ask('/v1/scaling/default', 'admin@acme')).toMatchObject({
    status: 403,
    body: { code: 'right-missing' },
  });
  expect(await ask('/v1/scaling', 'scaler@acme')).toMatchObject({ status: 403, body: { code: 'right-missing' } });
  expect(await ask('/v1/workflows')).toMatchObject({ status: 403, body: { code: 'right-missing' } });
  expect(await ask('/v1/scaling/none')).toMatchObject({ status: 404, body: { code: 'pool-unknown' } });
});
