/** Keys, tenants, the audit log and secret fields over HTTP: what is told once, to whom, and what is written down of it. */

import { ActiveTenants, KeyAuthenticator } from '@tidemark/access';
import { type Client, connect } from '@tidemark/client';
import type { TenantId } from '@tidemark/core';
import { accessRecords, auditTrail } from '@tidemark/host';
import type { Authenticator, Role } from '@tidemark/ports';
import { systemClock } from '@tidemark/runtime';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, serveApi } from './served.ts';

let served: Served;
let trail: ReturnType<typeof auditTrail>;
const tokens = new Map<string, string>();
beforeAll(async () => {
  let authenticator: Authenticator | undefined;
  served = await serveApi({
    authenticator: {
      authenticate: (credentials) => authenticator!.authenticate(credentials),
      forget: (changed) => authenticator!.forget?.(changed),
    },
    audit: {
      admit: (tenant) => trail.admit(tenant),
      record: (entry) => trail.record(entry),
      write: (entry) => trail.write(entry),
    },
  });
  trail = auditTrail(served.host);
  const records = accessRecords(served.host);
  authenticator = new KeyAuthenticator({
    records,
    tenants: new ActiveTenants({ records, clock: systemClock }),
    clock: systemClock,
  });
  for (const [name, tenant, role] of [
    ['platform', null, 'admin'],
    ['acme', 'acme', 'admin'],
    ['globex', 'globex', 'admin'],
  ] as readonly (readonly [string, TenantId | null, Role])[]) {
    const made = await records.createKey({ tenant, roles: [role], name, expiresMs: null, by: 'test' });
    tokens.set(name, made.text);
  }
});
afterAll(async () => {
  await trail.close();
  await served.close();
});

const as = (who: string) => connect({ url: served.url, token: tokens.get(who) ?? who });
const make = (who: string, body: object) =>
  as(who).ask('POST /v1/keys', { body: { name: 'of CI', roles: ['operator'], ...body } as never });

it('a key is told once, lets in as what it says, is found, and lets nobody in once it is revoked', async () => {
  const made = await make('acme', {});
  expect(made).toMatchObject({ name: 'of CI', tenant: 'acme', roles: ['operator'], revoked: null, last_used_at: null });
  expect(made.secret).toContain(`tmk_${made.key}_`);
  const lifeDays = (Date.parse(made.expires_at!) - Date.parse(made.created_at)) / 86_400_000;
  expect(Math.round(lifeDays)).toBe(90);
  const { workflows } = await as(made.secret).list();
  expect(workflows).toEqual([]);
  const listed = await as('acme').ask('GET /v1/keys', { query: {} });
  expect(JSON.stringify(listed)).not.toContain(made.secret.slice(-40));
  expect(listed.keys.map(({ tenant }) => tenant)).toEqual(['acme', 'acme']);
  const revoke = () =>
    as('acme').ask('POST /v1/keys/{key}/revoke', { params: { key: made.key }, body: { why: 'lost' } });
  expect((await revoke()).revoked).toMatchObject({ why: 'lost' });
  // At once in the process that was asked, though the key was known as good a moment ago.
  await expect(as(made.secret).list()).rejects.toMatchObject({ code: 'credentials-invalid' });
  expect((await revoke()).revoked).toMatchObject({ why: 'lost' });
  expect((await as('acme').ask('GET /v1/keys', { query: {} })).keys).toHaveLength(1);
  expect((await as('acme').ask('GET /v1/keys', { query: { revoked: 'true' } })).keys).toHaveLength(2);
});

it('a suspended tenant is let in no more, and a resumed one again, at once where that was asked', async () => {
  const umbrella = await make('platform', { tenant: 'umbrella' });
  const list = () => as(umbrella.secret).list();
  const ask = (act: 'suspend' | 'resume') =>
    as('platform').ask(`POST /v1/tenants/{tenant}/${act}`, { params: { tenant: 'umbrella' }, body: { why: 'a test' } });
  await list();
  await ask('suspend');
  await expect(list()).rejects.toMatchObject({ code: 'credentials-invalid' });
  await ask('resume');
  expect((await list()).workflows).toEqual([]);
});

it("is one tenant's own business; keys for all, and tenants, are those' who run the whole", async () => {
  const own = await make('acme', { expires_at: null });
  expect(own.expires_at).toBeNull();
  const get = (who: string, key: string) => as(who).ask('GET /v1/keys/{key}', { params: { key } });
  await expect(get('globex', own.key)).rejects.toMatchObject({ status: 404, code: 'key-unknown' });
  await expect(
    as('globex').ask('POST /v1/keys/{key}/revoke', { params: { key: own.key }, body: { why: 'x' } }),
  ).rejects.toMatchObject({ code: 'key-unknown' });
  await expect(make('acme', { all_tenants: true })).rejects.toMatchObject({ status: 403, code: 'right-missing' });
  await expect(make('acme', { tenant: 'globex' })).rejects.toMatchObject({ status: 404, code: 'tenant-unknown' });
  const all = await make('platform', { all_tenants: true, roles: ['viewer', 'approver'] });
  expect(all).toMatchObject({ tenant: null, roles: ['viewer', 'approver'] });
  await expect(get('acme', all.key)).rejects.toMatchObject({ code: 'key-unknown' });

  const pages: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await as('platform').ask('GET /v1/keys', { query: { limit: 2, ...(cursor && { cursor }) } });
    pages.push(...page.keys.map(({ key }) => key));
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  const whole = await as('platform').ask('GET /v1/keys', { query: {} });
  expect(pages).toEqual(whole.keys.map(({ key }) => key));

  const tenant = { params: { tenant: 'initech' } };
  expect(await as('platform').ask('PUT /v1/tenants/{tenant}', tenant)).toMatchObject({
    tenant: 'initech',
    suspended: null,
  });
  const suspended = await as('platform').ask('POST /v1/tenants/{tenant}/suspend', {
    ...tenant,
    body: { why: 'unpaid' },
  });
  expect(suspended.suspended).toMatchObject({ why: 'unpaid' });
  const { tenants } = await as('platform').ask('GET /v1/tenants', { query: { limit: 1 } });
  expect(tenants).toMatchObject([{ tenant: 'initech' }]);
  expect((await as('acme').ask('GET /v1/tenants', { query: {} })).tenants).toEqual([]);
  const back = await as('platform').ask('POST /v1/tenants/{tenant}/resume', { ...tenant, body: { why: 'paid' } });
  expect(back.suspended).toBeNull();
  await expect(as('acme').ask('PUT /v1/tenants/{tenant}', { params: { tenant: 'acme' } })).rejects.toMatchObject({
    status: 403,
    code: 'right-missing',
  });
});

it('a look at the audit is in the audit; pages are told each once, of one tenant alone', async () => {
  const read = (who: string, query: object) => as(who).ask('GET /v1/audit', { query: { limit: 500, ...query } });
  await read('acme', { action: 'createKey' });
  await expect
    .poll(async () => {
      await trail.flushed();
      return (await read('acme', { action: 'listAudit' })).entries;
    })
    .not.toEqual([]);
  const until = new Date().toISOString();
  const all = await read('acme', { to: until });
  expect(all.entries.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['createKey', 'revokeKey', 'listAudit']),
  );
  expect(all.entries.every(({ of }) => of === 'acme')).toBe(true);
  const pages: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read('acme', { to: until, limit: 2, ...(cursor && { cursor }) });
    expect(page.entries.length).toBeLessThanOrEqual(2);
    pages.push(...page.entries.map(({ id }) => id));
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  expect(pages).toEqual(all.entries.map(({ id }) => id));
  const failed = await read('acme', { outcome: 'failed', action: 'createKey', to: until });
  expect(new Set(failed.entries.map(({ code }) => code))).toEqual(new Set(['tenant-unknown']));
  const refused = await read('acme', { outcome: 'refused', action: 'createKey', to: until });
  expect(refused.entries.map(({ code }) => code)).toContain('right-missing');
  expect(JSON.stringify(all)).not.toMatch(/tmk_/);
  await expect(read('acme', { tenant: 'globex' })).rejects.toMatchObject({ code: 'tenant-unknown' });
  // What is no tenant's.
  const system = await read('platform', { tenant: '~tidemark', action: 'createTenant' });
  expect(system.entries).toMatchObject([{ target: 'initech', outcome: 'done' }]);
});

it('is written down with whose it was, whatever workflows of others are named', async () => {
  for (const id of ['acme', 'patient', 'ana']) await as('globex').start('patient', { times: 1 }, { id });
  const ask: Client['ask'] = (...asked) => as('platform').ask(...asked);
  const [why, tenant] = [{ why: 'a test' }, { params: { tenant: 'acme' } }];
  await ask('POST /v1/tenants/{tenant}/suspend', { ...tenant, body: why });
  await ask('POST /v1/tenants/{tenant}/resume', { ...tenant, body: why });
  await ask('POST /v1/queues/{queue}/pause', { params: { queue: 'patient' }, body: why });
  await ask('POST /v1/queues/{queue}/resume', { params: { queue: 'patient' }, body: why });
  await ask('PUT /v1/budgets', { query: { tenant: 'acme', user: 'ana' }, body: { tokens: 10 } });
  // The control: what is done to their workflow is theirs to know.
  await ask('POST /v1/workflows/{workflow}/signals', { params: { workflow: 'ana' }, body: { name: 'go', value: 1 } });
  const targetsOf = async (of: string) => {
    const { entries } = await ask('GET /v1/audit', { query: { tenant: of, limit: 500 } });
    const known = ['suspendTenant', 'pauseQueue', 'setBudget', 'signalWorkflow'];
    return entries
      .filter(({ action }) => known.includes(action))
      .map(({ action, target }) => `${action} ${target}`)
      .filter((reported) => !/initech|umbrella/.test(reported))
      .sort();
  };
  await trail.flushed();
  const reported = async () => Promise.all(['globex', 'acme', '~tidemark'].map(targetsOf));
  await expect
    .poll(reported)
    .toEqual([['signalWorkflow ana'], ['setBudget ana'], ['pauseQueue patient', 'suspendTenant acme']]);
});

it.each([
  ['no name', { name: '' }, 'name'],
  ['a name of controls', { name: 'a\u0007' }, 'name'],
  ['a huge name', { name: 'x'.repeat(5_000) }, 'name'],
  ['no roles', { roles: [] }, 'roles'],
  ['an unknown role', { roles: ['root'] }, 'roles'],
  ['a prototype key', { constructor: 1 }, 'body'],
  ['a time that has passed', { expires_at: '2001-01-01T00:00:00Z' }, 'expires'],
  ['a time of words', { expires_at: 'tomorrow' }, 'expires_at'],
  ['a tenant of controls', { tenant: 'a\nb' }, 'tenant'],
  ["the system's tenant", { tenant: '~tidemark' }, 'tenant'],
  ['two answers to whose', { tenant: 'acme', all_tenants: true }, 'tenant'],
])('with %s no key is made, and the field is named', async (_, body, field) => {
  const error = await make('platform', body).then(
    () => undefined,
    (thrown: { status: number; message: string }) => thrown,
  );
  expect(error?.status).toBe(400);
  expect(error?.message).toContain(field);
});

it.each([
  ['/v1/audit?from=yesterday', 'query.from'],
  ['/v1/audit?limit=501', 'query.limit'],
  ['/v1/audit?outcome=maybe', 'query.outcome'],
  ['/v1/audit?cursor=%7B%7D', 'cursor'],
  [`/v1/audit?subject=${'x'.repeat(300)}`, 'query.subject'],
  ['/v1/audit?target=%00', 'query.target'],
  ['/v1/keys?cursor=AAAA', 'cursor'],
  ['/v1/keys/%3Cb%3E', 'key'],
  ['/v1/keys/..%2F..%2Fetc', 'key'],
])('%s is refused, naming the field', async (path, field) => {
  const answer = await fetch(`${served.url}${path}`, {
    headers: { authorization: `Bearer ${tokens.get('platform')}` },
  });
  const reported = (await answer.json()) as { detail: string };
  expect([400, 404]).toContain(answer.status);
  expect(reported.detail).toContain(field);
  expect(reported.detail).not.toContain('<b>');
});
