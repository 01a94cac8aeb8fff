/** What is polled is asked for without content, and is no read that is written down; what holds content always is (R4). */

import { type Client, connect } from '@tidemark/client';
import type { AuditEntry } from '@tidemark/ports';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { askSomebody, type Served, sayingAuthenticator, serveApi } from './served.ts';

let served: Served;
let entries: AuditEntry[];
let operator: Client;
beforeAll(async () => {
  const audit = {
    admit: () => {},
    record: (entry: AuditEntry) => void entries.push(entry),
    write: async (entry: AuditEntry) => void entries.push(entry),
  };
  entries = [];
  served = await serveApi({ authenticator: sayingAuthenticator, audit, definitions: [askSomebody] });
  operator = connect({ url: served.url, token: 'operator acme' });
  for (const id of ['a', 'b']) await operator.start('ask-somebody', {}, { id });
  const asked = () => operator.ask('GET /v1/approvals', { query: {} });
  await vi.waitFor(async () => expect((await asked()).approvals).toHaveLength(2), { timeout: 60_000 });
});
afterAll(() => served.close());
beforeEach(() => {
  entries = [];
});

const written = () => entries.map(({ action, target }) => `${action} ${target}`).sort();

it('writes down a look at the inbox and at a workflow, each time', async () => {
  const { approvals } = await operator.ask('GET /v1/approvals', { query: {} });
  expect(approvals).toMatchObject([{ title: 'Pay?', detail: { cents: 5 } }, { title: 'Pay?' }]);
  expect(await operator.run('a').get()).toMatchObject({ input: {}, belief: {} });
  expect(await operator.run('a').get({ content: true })).toHaveProperty('belief');
  expect(written()).toEqual(['getWorkflow a', 'getWorkflow a', 'listApprovals a', 'listApprovals b']);
});

it('writes down nothing of the same without content, and shows none', async () => {
  const { approvals } = await operator.ask('GET /v1/approvals', { query: { content: 'false' } });
  expect(approvals.map(({ workflow, answerable }) => [workflow, answerable])).toEqual([
    ['a', false],
    ['b', false],
  ]);
  for (const hidden of ['title', 'detail', 'form']) expect(approvals[0]).not.toHaveProperty(hidden);
  const view = await operator.run('a').get({ content: false });
  expect(view).toMatchObject({ workflow: 'a', status: 'open', frontier: [{ step: 'hear' }] });
  for (const hidden of ['input', 'belief', 'output']) expect(view).not.toHaveProperty(hidden);
  const query = { content: 'false' } as const;
  await operator.ask('GET /v1/jobs', { query });
  await operator.ask('GET /v1/schedules', { query });
  await operator.ask('GET /v1/errors', { query });
  await operator.ask('GET /v1/questions', { query });
  await operator.ask('GET /v1/queues', { query });
  await operator.ask('GET /v1/rejected', { query });
  expect(written()).toEqual([]);
});

it('gives nobody more than they may see', async () => {
  const viewer = connect({ url: served.url, token: 'viewer acme' });
  expect(await viewer.run('a').get({ content: true })).not.toHaveProperty('belief');
  const answer = await fetch(`${served.url}/v1/workflows/a?content=yes`, {
    headers: { authorization: 'Bearer operator acme' },
  });
  expect(answer.status).toBe(400);
});
