/** What pages of docs show of definitions and clients does what they say, in one world. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tenantId } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { crawl, report } from './dispatch.ts';
import { deliveries, signatureOf } from './hook.ts';
import { everyNight, handled, keepFor, regional, startFirst, triage } from './operating.ts';
import { upgrade } from './repo-state.ts';
import { refund, refundV1 } from './versions.ts';

const TENANT = tenantId('default');
let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [report, crawl, regional, refund, triage] });
});
afterAll(() => world.close());

it('runs what has priorities and limits', async () => {
  expect(await (await startFirst(world.client)).result()).toEqual({ pages: 1 });
  const run = await world.start(crawl, { site: 'example.org', customer: 'acme' });
  expect(await run.result()).toEqual({ pages: 1 });
});

it('sets a schedule', async () => {
  // Lists tell of it once rows do; the same schedule again changes nothing.
  await expect
    .poll(() => everyNight(world.client))
    .toMatchObject({
      id: 'nightly-report',
      definition: 'regional',
      status: 'open',
    });
});

it('keeps, holds and lets go', async () => {
  const { id } = await startFirst(world.client);
  await keepFor(world.client, TENANT, id);
  const DAY_MS = 24 * 60 * 60 * 1_000;
  const { policy, holds } = await world.client.memory.retention(TENANT);
  expect([policy, holds]).toEqual([{ warmMs: 30 * DAY_MS, keepMs: 365 * DAY_MS }, []]);
});

/** A run of the agent's that does as it says. */
async function agreed(id: string): Promise<void> {
  const shadow = world.client.shadow(
    { name: 'triage', version: 1 },
    { id, input: null, belief: {}, next: [{ step: 'one' }] },
  );
  shadow.step({ key: 'one', step: 'one', input: null, next: [], change: {}, belief: {}, pending: [], output: 1 });
  shadow.done(1);
  await shadow.flushed();
}

it('reports a run that happens elsewhere', async () => {
  await world.client.shadows.promote('triage', { to: 100, by: 'eve' });
  expect(await handled(world.client, { id: 'ticket-1', text: 'it leaks' })).toBe(true);
  // It ended with a task left to do, which is a difference: the observation begins again.
  await world.client.shadows.promote('triage', { to: 100, by: 'eve' });
  for (const to of [10, 50, 100] as const) {
    // Half of them may be Tidemark's already, and are not observed.
    for (let n = 0; n < 8; n++) await agreed(`agreed-${to}-${n}`);
    const wanted = { mode: 'active', to, by: 'eve', observeMs: 0, workflowsMin: 1 } as const;
    await expect.poll(async () => (await world.client.shadows.promote('triage', wanted)).refusals).toEqual([]);
  }
  expect(await handled(world.client, { id: 'ticket-2', text: 'it smokes' })).toEqual({ answered: true });
});

it('goes on with what an older version stored', async () => {
  const { id } = await world.client.start(refundV1, { orderId: '7' }, { id: 'refund-7' });
  await world.client.signal(id, 'go', null);
  expect(await (await world.client.start(refund, { orderId: '7' }, { id: 'refund-7' })).result()).toEqual({
    cents: 1_200,
  });
});

it('takes a hook that is signed, and no other', async () => {
  const handle = deliveries(world.client, 'words');
  const body = JSON.stringify({ id: 'parcel-1', workflow: 'nobody', data: { at: 'the door' } });
  const ask = (signature: string) =>
    handle(new Request('http://hooks.example', { method: 'POST', body, headers: { 'x-signature': signature } }));
  expect((await ask('no')).status).toBe(401);
  expect((await ask(signatureOf(body, 'words'))).status).toBe(404);
});

it('keeps how far an upgrade got in the repository', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-guides-'));
  await writeFile(path.join(folder, 'package.json'), '{"scripts":{"test":"exit 0"}}');
  expect(await upgrade(folder)).toContain('test: checked');
  await rm(folder, { recursive: true });
});
