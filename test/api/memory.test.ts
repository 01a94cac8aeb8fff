/** What is known of a user, and how long history is kept, over the operations: what is written is found, by whom it may be, and is in the audit. */

import { connect } from '@tidemark/client';
import type { AuditEntry } from '@tidemark/ports';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { patient, type Served, sayingAuthenticator, serveApi } from './served.ts';

/** Made up, and of the form that services give out. */
const SECRET = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;

let served: Served;
const written: AuditEntry[] = [];
beforeAll(async () => {
  const note = (entry: AuditEntry): void => void written.push(entry);
  served = await serveApi({
    authenticator: sayingAuthenticator,
    audit: { admit: () => {}, record: note, write: async (entry) => note(entry) },
  });
});
afterAll(() => served.close());
beforeEach(() => void written.splice(0));

const as = (who: string) => connect({ url: served.url, token: who, tries: 1 });
const params = { user: 'ana' };
const about = { about: 'user:ana' };
const factsOf = async (who: string) => (await as(who).ask('GET /v1/memory/{about}/facts', { params: about })).facts;
const remember = (who: string, text: string, query = {}) =>
  as(who).ask('POST /v1/memory/{about}/facts', { params: about, query, body: { text, source: 'mail' } });
const preference = { params: { ...params, key: 'tone/of voice' } };
const audited = () =>
  written.map(({ action, target, tenant, outcome }) => [action, target, tenant, outcome] as readonly unknown[]);

it('a fact is remembered, listed, recalled and forgotten; it is in the audit', async () => {
  const { key } = await remember('operator acme', ' Ana works from Lisbon');
  expect(await factsOf('approver acme')).toMatchObject([{ key, text: 'Ana works from Lisbon', source: 'mail' }]);
  const body = { query: 'where does she work', kinds: ['summary', 'fact'] as const };
  const found = await as('operator acme').ask('POST /v1/memory/{about}/recall', { params: about, body });
  expect(found).toMatchObject({ by: 'words', entries: [{ kind: 'fact', key }], continuation: '' });
  const summaries = { params: about, body: { query: 'where does she work' } };
  expect((await as('operator acme').ask('POST /v1/memory/{about}/recall', summaries)).entries).toEqual([]);
  const forget = () =>
    as('operator').ask('DELETE /v1/memory/{about}/facts/{key}', {
      params: { ...about, key },
      query: { tenant: 'acme' },
    });
  expect(await forget()).toEqual({ about: 'user:ana', key });
  await expect(forget()).rejects.toMatchObject({ status: 404, code: 'fact-unknown' });
  expect(await factsOf('operator acme')).toEqual([]);
  expect(audited()).toEqual([
    ['rememberFact', 'user:ana', 'acme', 'done'],
    ['listFacts', 'user:ana', 'acme', 'done'],
    ['recall', 'user:ana', 'acme', 'done'],
    ['recall', 'user:ana', 'acme', 'done'],
    ['forgetFact', 'user:ana', 'acme', 'done'],
    ['forgetFact', 'user:ana', 'acme', 'failed'],
    ['listFacts', 'user:ana', 'acme', 'done'],
  ]);
});

it('a preference is set, read, found by how its key begins, and forgotten', async () => {
  const set = (value: unknown) =>
    as('operator acme').ask('PUT /v1/users/{user}/preferences/{key}', { ...preference, body: { value } });
  await set({ style: 'brief' });
  const read = () => as('operator acme').ask('GET /v1/users/{user}/preferences/{key}', preference);
  expect(await read()).toMatchObject({ value: { style: 'brief' }, source: 'operator-of-acme' });
  await set(null);
  expect(await read()).toMatchObject({ value: null });
  const list = async (prefix: string) =>
    (await as('operator acme').ask('GET /v1/users/{user}/preferences', { params, query: { prefix } })).preferences;
  expect((await list('tone')).map(({ key }) => key)).toEqual(['tone/of voice']);
  expect(await list('voice')).toEqual([]);
  await expect(set('x'.repeat(17_000))).rejects.toMatchObject({ status: 400, code: 'state-value' });
  await as('operator acme').ask('DELETE /v1/users/{user}/preferences/{key}', preference);
  await expect(read()).rejects.toMatchObject({ status: 404, code: 'state-key-unknown' });
});

it('who is of another tenant, or has no right to it, is refused, and nothing changes', async () => {
  const { key } = await remember('operator acme', 'Ana pays by invoice');
  const fact = { params: { ...about, key } };
  expect(await factsOf('operator globex')).toEqual([]);
  const others = as('operator globex');
  await expect(others.ask('DELETE /v1/memory/{about}/facts/{key}', fact)).rejects.toMatchObject({
    code: 'fact-unknown',
  });
  await expect(remember('operator globex', 'x', { tenant: 'acme' })).rejects.toMatchObject({ code: 'tenant-unknown' });
  await expect(remember('operator', 'x', { tenant: '~tidemark' })).rejects.toMatchObject({ code: 'tenant-invalid' });
  for (const who of ['viewer acme', 'approver acme']) {
    const missing = { status: 403, code: 'right-missing' };
    await expect(remember(who, 'x')).rejects.toMatchObject(missing);
    await expect(as(who).ask('DELETE /v1/memory/{about}/facts/{key}', fact)).rejects.toMatchObject(missing);
    await expect(as(who).ask('PUT /v1/retention', { body: { policy: null } })).rejects.toMatchObject(missing);
  }
  await expect(factsOf('viewer acme')).rejects.toMatchObject({ code: 'right-missing' });
  expect((await factsOf('operator acme')).map(({ text }) => text)).toEqual(['Ana pays by invoice']);
  expect(written.filter(({ outcome }) => outcome === 'refused')).toHaveLength(7);
});

it('a secret is refused by its place, and is nowhere', async () => {
  const refused = await remember('operator acme', `the key is ${SECRET}`).catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 400, code: 'memory-secret', fields: [{ field: '/text' }] });
  expect(`${refused}`).not.toContain(SECRET);
  const set = as('operator acme').ask('PUT /v1/users/{user}/preferences/{key}', {
    ...preference,
    body: { value: { login: SECRET } },
  });
  await expect(set).rejects.toMatchObject({ code: 'memory-secret' });
  expect(JSON.stringify([await factsOf('operator acme'), written])).not.toContain(SECRET);
});

it("a tenant's policy and holds are one tenant's own, and in the audit by their names", async () => {
  await served.host.client.start(patient, { times: 1 }, { id: 'held', tenant: 'acme' as never });
  const acme = as('admin acme');
  const retention = (who: string) => as(who).ask('GET /v1/retention', {});
  const policy = { warm_ms: 60_000, keep_ms: null };
  await acme.ask('PUT /v1/retention', { body: { policy } });
  const hold = { hold: 'case 7', workflow: 'held', why: 'a dispute' };
  await expect(as('admin globex').ask('POST /v1/retention/holds', { body: hold })).rejects.toMatchObject({
    code: 'workflow-unknown',
  });
  const elsewhere = as('admin').ask('POST /v1/retention/holds', { query: { tenant: 'globex' }, body: hold });
  await expect(elsewhere).rejects.toMatchObject({ code: 'hold-elsewhere' });
  await acme.ask('POST /v1/retention/holds', { body: hold });
  await expect(acme.ask('POST /v1/retention/holds', { body: { ...hold, why: 'other' } })).rejects.toMatchObject({
    status: 409,
    code: 'hold-taken',
  });
  const held = { ...hold, by: 'admin-of-acme' };
  expect(await retention('admin acme')).toEqual({ tenant: 'acme', policy, holds: [held] });
  expect(await retention('admin globex')).toEqual({ tenant: 'globex', policy: null, holds: [] });
  const release = (who: string) => as(who).ask('DELETE /v1/retention/holds/{hold}', { params: { hold: hold.hold } });
  await expect(release('admin globex')).rejects.toMatchObject({ status: 404, code: 'hold-unknown' });
  await release('admin acme');
  await acme.ask('PUT /v1/retention', { body: { policy: null } });
  expect(await retention('admin acme')).toEqual({ tenant: 'acme', policy: null, holds: [] });
  expect(audited().filter(([, , , outcome]) => outcome === 'done')).toEqual([
    ['setRetention', 'retention', 'acme', 'done'],
    ['holdHistory', 'case 7', 'acme', 'done'],
    ['getRetention', 'retention', 'acme', 'done'],
    ['getRetention', 'retention', 'globex', 'done'],
    ['releaseHold', 'case 7', 'acme', 'done'],
    ['setRetention', 'retention', 'acme', 'done'],
    ['getRetention', 'retention', 'acme', 'done'],
  ]);
});
