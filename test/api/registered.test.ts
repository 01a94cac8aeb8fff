/** A coordinator without anybody's code takes starts of what workers have registered, from the moment at which they have. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createApi, localAuthenticator } from '@tidemark/api';
import { RegisteredDefinitions } from '@tidemark/coordinator-service/registered-definitions';
import { type Host, openEmbedded } from '@tidemark/host';
import { defineFunction, type Workflow } from '@tidemark/sdk';
import { registerDefinitions } from '@tidemark/worker-service/register';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';

const greet = (version: number): Workflow =>
  defineFunction({
    name: 'greet',
    version,
    input: z.object({ name: z.string() }),
    output: z.object({ text: z.string() }),
    run: async (_ctx, { name }) => ({ text: `Hello ${name}, by v${version}.` }),
  }) as unknown as Workflow;

let folder: string;
let host: Host;
let definitions: RegisteredDefinitions;
let app: Awaited<ReturnType<typeof createApi>>;
const faults: unknown[] = [];

const served = async (loaded: readonly Workflow[] = []): Promise<void> => {
  definitions = new RegisteredDefinitions(host, loaded, (_where, error) => faults.push(error));
  app = await createApi({ place: host, definitions, authenticator: localAuthenticator, checksAnswers: true });
};
beforeEach(async () => {
  faults.length = 0;
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-registered-'));
  host = await openEmbedded({ folder: path.join(folder, 'state') });
});
afterEach(async () => {
  await definitions.close();
  await app.close();
  await host.close();
  await rm(folder, { recursive: true });
});

const worker = async (...of: Workflow[]): Promise<void> => {
  await host.startWorker({ definitions: of, concurrency: 10 });
  await registerDefinitions(host, of, new AbortController().signal);
};
const start = (body: object) => app.inject({ method: 'POST', url: '/v1/workflows', payload: body });
const resultOf = async (id: string) =>
  (await app.inject({ method: 'GET', url: `/v1/workflows/${id}/result?wait_ms=20000` })).json();

it('is started by its name once a worker has told it, and refused by its schema', async () => {
  await served();
  const before = await start({ definition: 'greet', input: { name: 'Ana' }, id: 'a' });
  expect(before.json()).toMatchObject({ code: 'definition-unknown' });
  await worker(greet(1));
  await expect
    .poll(async () => (await start({ definition: 'greet', input: { name: 'Ana' }, id: 'a' })).statusCode)
    .toBe(201);
  expect(await resultOf('a')).toMatchObject({ status: 'completed', output: { text: 'Hello Ana, by v1.' } });
  const unfit = await start({ definition: 'greet', input: { nam: 'Ana' } });
  expect(unfit.json()).toMatchObject({ code: 'input-invalid' });
  expect(unfit.json().detail ?? unfit.json().message).toContain('nam: is no field (did you mean name?)');
  const again = await start({ definition: 'greet', input: { name: 'Ana' }, id: 'a' });
  expect(again.json()).toMatchObject({ created: false, same_input: true });
  const { definitions: cards } = (await app.inject('/v1/definitions')).json();
  expect(cards).toMatchObject([{ name: 'greet', version: 1, starts: ['run'] }]);
  expect(faults).toEqual([]);
});

it('is started in the newest version that a worker has, whatever the coordinator has loaded', async () => {
  await served([greet(1)]);
  await worker(greet(2), greet(1));
  await expect.poll(async () => (await definitions.read()).map(({ version }) => version)).toEqual([2, 1]);
  await start({ definition: 'greet', input: { name: 'Bo' }, id: 'b' });
  expect(await resultOf('b')).toMatchObject({ output: { text: 'Hello Bo, by v2.' } });
});

it('is started in the version that a worker runs, where a newer one was rolled back, and else in the newest', async () => {
  await served();
  await registerDefinitions(host, [greet(2)], new AbortController().signal);
  await expect.poll(async () => (await definitions.read()).length).toBe(1);
  await start({ definition: 'greet', input: { name: 'Cy' }, id: 'c' });
  await worker(greet(1));
  await expect.poll(async () => (await definitions.read()).length).toBe(2);
  const version = async (id: string) => {
    await start({ definition: 'greet', input: { name: 'Di' }, id });
    return (await app.inject(`/v1/workflows/${id}`)).json().definition_version;
  };
  let count = 0;
  await expect.poll(() => version(`d-${count++}`)).toBe(1);
  expect(await resultOf(`d-${count - 1}`)).toMatchObject({ output: { text: 'Hello Di, by v1.' } });
  expect(await version('c')).toBe(2);
});

it('keeps what it can read, and tells of what it can’t', async () => {
  await served();
  await host.client.registrations.register([{ name: 'other', version: 1, card: { from: 'a newer release' } }]);
  await worker(greet(1));
  await expect.poll(async () => (await definitions.read()).map(({ name }) => name)).toEqual(['greet']);
  expect(faults).toMatchObject([{ code: 'definition-unreadable' }]);
});
