/** Keys and tenants over the real rows: shown once, listed without secrets, revoked permanently, and not lost with the rows (I6). */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { type AccessRecords, ActiveTenants, KeyAuthenticator } from '@tidemark/access';
import { DEFAULT_TENANT, SYSTEM_TENANT, type TenantId } from '@tidemark/core';
import { systemClock } from '@tidemark/runtime';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { accessRecords } from './access.ts';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
let at: FolderFixture;
let host: Host;
let records: AccessRecords;
beforeAll(async () => {
  at = await FolderFixture.make();
  host = await at.open();
  records = accessRecords(host);
});
afterAll(() => at.end());

const asked = (more: object = {}) => ({
  tenant: 'acme' as TenantId,
  roles: ['operator' as const],
  name: 'deploys of CI',
  expiresMs: null,
  by: 'ana',
  ...more,
});
async function listed<T>(given: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const one of given) all.push(one);
  return all;
}
const all = (tenant: string | null) => listed(records.keys(tenant as TenantId | null));

it('a key is told once, opens what it may, and is revoked for good', async () => {
  expect(await records.areKnown()).toBe(false);
  const { key, text } = await records.createKey(asked());
  expect(await records.areKnown()).toBe(true);
  const stored = await records.key(key.id);
  expect(JSON.stringify(stored)).not.toContain(text.slice(-52));
  const tenants = new ActiveTenants({ records, clock: systemClock });
  const keys = new KeyAuthenticator({ records, tenants, clock: systemClock });
  const show = () => keys.authenticate({ authorization: `Bearer ${text}` });
  expect(await show()).toMatchObject({ tenant: 'acme', roles: ['operator'] });
  await keys.close();
  expect((await records.key(key.id))?.usedMs).toBeGreaterThan(0);

  await records.revokeKey(key.id, { by: 'bob', why: 'it leaked' });
  const again = await records.revokeKey(key.id, { by: 'eve', why: 'something else' });
  expect(again.revoked).toMatchObject({ by: 'bob', why: 'it leaked' });
  keys.forget({ key: key.id });
  await expect(show()).rejects.toMatchObject({ code: 'credentials-invalid' });
  // What is noted late doesn't bring it back.
  await records.noteUsed(new Map([[key.id, Date.now()]]));
  expect((await records.key(key.id))?.revoked).toMatchObject({ by: 'bob' });
});

it('keys are listed by tenant, without their hashes', async () => {
  const one = await records.createKey(asked({ tenant: 'list-a' }));
  const two = await records.createKey(asked({ tenant: 'list-b' }));
  const everybody = await records.createKey(asked({ tenant: null, roles: ['admin'] }));
  expect((await all('list-a')).map(({ id }) => id)).toEqual([one.key.id]);
  const ids = (await all(null)).map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining([one.key.id, two.key.id, everybody.key.id]));
  expect(JSON.stringify(await all(null))).not.toMatch(/hash|tmk_/);
});

it.each([
  [{ tenant: '' }, 'tenant'],
  [{ tenant: '~tidemark' }, 'tenant'],
  [{ tenant: 'a\u0000' }, 'tenant'],
  [{ roles: [] }, 'roles'],
  [{ roles: ['root'] }, 'roles'],
  [{ name: '' }, 'name'],
  [{ name: 'x'.repeat(200) }, 'name'],
  [{ expiresMs: 0 }, 'expires'],
  [{ expiresMs: Number.NaN }, 'expires'],
  [{ expiresMs: Number.MAX_SAFE_INTEGER }, 'expires'],
  [{ by: '' }, 'by'],
])('a key with %j is refused, and the field named', async (wrong, field) => {
  const before = (await all(null)).length;
  const error: unknown = await records.createKey(asked(wrong) as never).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'InvalidError', code: `${field}-invalid` });
  expect(await all(null)).toHaveLength(before);
});

it.each(["x' or '1'='1", 'a\u0000b', '%', '_'.repeat(16), '', '../../key', 'a'.repeat(16)])(
  'no key has the id %j',
  async (id) => {
    expect(await records.key(id)).toBeUndefined();
    await expect(records.revokeKey(id, { by: 'ana', why: 'x' })).rejects.toMatchObject({ code: 'key-unknown' });
  },
);

it('a tenant is created once, suspended and let in again', async () => {
  const made = await records.createTenant('acme-2', 'ana');
  expect(await records.createTenant('acme-2', 'bob')).toEqual(made);
  const asked = { by: 'ana', why: 'paid' };
  await expect(records.suspendTenant('acme-3', false, asked)).rejects.toMatchObject({ code: 'tenant-unknown' });
  expect(await listed(records.tenants())).not.toContainEqual(expect.objectContaining({ tenant: 'acme-3' }));
  const out = await records.suspendTenant('acme-2', true, { by: 'ana', why: 'unpaid' });
  expect(out.suspended).toMatchObject({ why: 'unpaid' });
  expect((await records.suspendTenant('acme-2', false, { by: 'ana', why: 'paid' })).suspended).toBeNull();
  expect(await listed(records.tenants())).toEqual(expect.arrayContaining([made]));
});

it('nobody writes who may do what as if it were memory', async () => {
  const update = { subject: 'access:keys', kind: 'record', key: 'x/key', value: {} } as const;
  for (const tenant of [DEFAULT_TENANT, SYSTEM_TENANT]) {
    await expect(host.client.memory.remember([update], { tenant })).rejects.toMatchObject({ code: 'memory-reserved' });
  }
});

it('keys, revocations and tenants outlive the loss of all rows (I6); a key that is unknown meanwhile is not called wrong', async () => {
  const stands = await records.createKey(asked());
  const revoked = await records.createKey(asked());
  await records.revokeKey(revoked.key.id, { by: 'bob', why: 'it leaked' });
  await records.createTenant('outlives', 'ana');
  await at.close(host);
  await rm(path.join(at.state, 'rows'), { recursive: true });

  host = await at.openIdle();
  records = accessRecords(host);
  const tenants = new ActiveTenants({ records, clock: systemClock });
  const keys = new KeyAuthenticator({ records, tenants, clock: systemClock });
  const show = (text: string) => keys.authenticate({ authorization: `Bearer ${text}` });
  await expect(show(stands.text)).rejects.toMatchObject({ name: 'UnavailableError', code: 'keys-unknown' });
  await host.startCoordinator();
  await vi.waitFor(async () => expect(await show(stands.text)).toMatchObject({ tenant: 'acme' }), { timeout: 60_000 });
  await expect(show(revoked.text)).rejects.toMatchObject({ code: 'credentials-invalid' });
  expect(await records.tenant('outlives' as TenantId)).toMatchObject({ by: 'ana' });
  await keys.close();
});
