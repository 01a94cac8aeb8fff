/**
 * Owns the routes of who is let in: API keys and tenants. Only the answer that created a key has its secret. Must not decide who a caller
 * is (see the access library).
 *
 * R1 An administrator of one tenant creates, sees and revokes that tenant's keys alone; only administrators of all tenants manage tenants.
 */

import type { StoredKey, StoredTenant } from '@tidemark/access';
import { AccessError, DEFAULT_TENANT, InvalidError, isoTime, type TenantId } from '@tidemark/core';
import { type Principal, ROLES } from '@tidemark/ports';
import { z } from 'zod';
import { maySee, tenantFor } from '../backend.ts';
import { BY_ID, BY_TENANT } from '../cursor.ts';
import { type Call, ok, route } from '../route.ts';
import {
  askSchema,
  flagSchema,
  nameSchema,
  nextCursorSchema,
  paged,
  tenantSchema,
  timeSchema,
} from '../schemas/common.ts';

/** Default life of an API key, in milliseconds: 90 days. */
const KEY_LIFE_DEFAULT_MS = 90 * 86_400_000;

const NAME_MAX_CHARS = 128;

const said = z.object({ by: z.string(), why: z.string(), at: timeSchema });
const saidJson = (one: { readonly by: string; readonly why: string; readonly atMs: number } | null) =>
  one && { by: one.by, why: one.why, at: isoTime(one.atMs) };
const timeOf = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

const keyFields = {
  key: z.string().meta({ description: 'Its public id; its subject is `key:` and this.' }),
  name: z.string(),
  tenant: z.string().nullable().meta({ description: "Whose workflows it is for; null: every tenant's." }),
  roles: z.array(z.enum(ROLES)),
  by: z.string(),
  created_at: timeSchema,
  expires_at: timeSchema.nullable().meta({ description: 'Null: it never expires.' }),
  last_used_at: timeSchema.nullable().meta({ description: 'Within ten minutes; null: not yet.' }),
  revoked: said.nullable(),
} as const;
const keySchema = z.object(keyFields).meta({ id: 'Key', description: 'An API key, without its secret.' });

const keyJson = ({ id, tenant, roles, name, expiresMs, by, createdMs, revoked, usedMs }: StoredKey) => ({
  ...{ key: id, name, tenant, roles: [...roles], by },
  created_at: isoTime(createdMs),
  expires_at: timeOf(expiresMs),
  last_used_at: timeOf(usedMs),
  revoked: saidJson(revoked),
});

export const createKey = route({
  method: 'POST',
  path: '/v1/keys',
  summary: 'Make an API key',
  description:
    'The answer has the whole key in `secret`, this once: only a hash of it is kept. It is accepted as soon as rows have it. Each request makes another one.',
  right: 'administer',
  needs: [
    {
      of: 'all-tenants',
      when: ({ body }) => (body as { readonly all_tenants?: true }).all_tenants === true,
      why: 'all_tenants: only an administrator of all tenants may do this.',
    },
  ],
  problems: ['tenant-invalid', 'expires-invalid'],
  body: z
    .strictObject({
      name: nameSchema.max(NAME_MAX_CHARS).meta({ description: 'What it is for.' }),
      roles: z.array(z.enum(ROLES)).min(1).max(ROLES.length),
      tenant: tenantSchema.optional(),
      all_tenants: z
        .literal(true)
        .optional()
        .meta({ description: "For administrators of all tenants; those of one tenant can't make such a key." }),
      expires_at: z.iso
        .datetime({ offset: true })
        .nullable()
        .optional()
        .meta({ description: 'By default after 90 days; null: never. At most ten years ahead.' }),
    })
    .meta({ id: 'NewKey' }),
  answers: {
    201: z
      .object({ ...keyFields, secret: z.string().meta({ description: 'What the caller shows as `Bearer`.' }) })
      .meta({ id: 'KeyMade' }),
  },
  async handle({ body, principal, backend }) {
    const { name, roles, tenant, all_tenants: isAll, expires_at: expires } = body;
    if (isAll === true && tenant !== undefined)
      throw new InvalidError('tenant-invalid', 'tenant: give a tenant or all_tenants, not both.', { field: 'tenant' });
    const lastMs = expires === null ? null : Date.parse(expires ?? '');
    const expiresMs = expires === undefined ? backend.ports.clock.nowMs() + KEY_LIFE_DEFAULT_MS : lastMs;
    const { key, text } = await backend.access.createKey({
      ...{ name, roles, by: principal.subject, expiresMs },
      tenant: isAll === true ? null : tenantFor(principal, tenant, DEFAULT_TENANT),
    });
    return { status: 201 as const, body: { ...keyJson(key), secret: text } };
  },
});

export const listKeys = route({
  method: 'GET',
  path: '/v1/keys',
  summary: 'List API keys, without their secrets',
  description: 'In the order of their ids, page by page.',
  right: 'administer',
  query: z.object({
    tenant: tenantSchema.optional(),
    revoked: flagSchema.meta({ description: '`true`: revoked ones as well.' }),
    ...paged,
  }),
  answers: { 200: z.object({ keys: z.array(keySchema), next_cursor: nextCursorSchema }) },
  async handle({ query, principal, backend }) {
    const { revoked, limit, cursor } = query;
    const of = tenantFor(principal, query.tenant, undefined) ?? null;
    const found: StoredKey[] = [];
    for await (const key of backend.access.keys(of, BY_ID.placeOf(cursor)?.id)) {
      if (key.revoked !== null && !revoked) continue;
      found.push(key);
      if (found.length > limit) break;
    }
    const { page, next_cursor } = BY_ID.pageIn(found, limit);
    return ok({ keys: page.map(keyJson), next_cursor });
  },
});

const keyParams = z.object({ key: nameSchema.meta({ description: 'Its public id.' }) });

export const getKey = route({
  method: 'GET',
  path: '/v1/keys/{key}',
  summary: 'An API key, without its secret',
  right: 'administer',
  problems: ['key-unknown'],
  params: keyParams,
  answers: { 200: keySchema },
  async handle({ params, principal, backend }) {
    const key = await backend.access.key(params.key);
    if (key === undefined || !mayRule(principal, key.tenant)) throw unknownKey();
    return ok(keyJson(key));
  },
});

export const revokeKey = route({
  method: 'POST',
  path: '/v1/keys/{key}/revoke',
  summary: 'Revoke an API key',
  description: 'Counts everywhere within seconds. A second revocation changes nothing.',
  right: 'administer',
  problems: ['key-unknown'],
  params: keyParams,
  body: askSchema,
  answers: { 200: keySchema },
  async handle({ params, body, principal, backend }) {
    const key = await backend.access.key(params.key);
    if (key === undefined || !mayRule(principal, key.tenant)) throw unknownKey();
    return ok(keyJson(await backend.access.revokeKey(key.id, { by: principal.subject, why: body.why })));
  },
});

/** A caller of one tenant can't manage keys for all. */
const mayRule = (principal: Principal, of: TenantId | null): boolean =>
  principal.tenant === null || (of !== null && maySee(principal, of));

/** The error never repeats the input: a pasted whole key would show its secret. */
const unknownKey = (): InvalidError =>
  new InvalidError('key-unknown', 'key: no key has this id. Give the public id alone, without its secret.', {
    field: 'key',
  });

const tenantView = z
  .object({
    tenant: z.string(),
    by: z.string(),
    created_at: timeSchema,
    suspended: said.nullable().meta({ description: 'While it is suspended, nobody of the tenant is let in.' }),
  })
  .meta({ id: 'Tenant' });

const tenantJson = ({ tenant, by, createdMs, suspended }: StoredTenant) => ({
  ...{ tenant, by, created_at: isoTime(createdMs), suspended: saidJson(suspended) },
});

export const listTenants = route({
  method: 'GET',
  path: '/v1/tenants',
  summary: 'List the tenants that were created or suspended',
  description: 'A tenant can be used without being created. Callers of one tenant see that one.',
  right: 'administer',
  query: z.object({ ...paged }),
  answers: { 200: z.object({ tenants: z.array(tenantView), next_cursor: nextCursorSchema }) },
  edges: {
    commands: [
      {
        name: 'access tenants',
        about: 'the tenants that were created or suspended',
        sends: { limit: 10_000 },
        rows: {
          of: 'tenants',
          none: 'No tenant was created; any name may be used.',
          columns: [
            ['TENANT', '{tenant}'],
            ['SINCE', '{created_at}'],
            ['BY', '{by}'],
            ['STATE', [['suspended', 'suspended by {suspended.by}: {suspended.why}'], 'let in'], 16],
          ],
        },
      },
    ],
  },
  async handle({ query: { limit, cursor }, principal, backend }) {
    if (principal.tenant !== null) {
      const own = await backend.access.tenant(principal.tenant);
      return ok({ tenants: own === undefined ? [] : [tenantJson(own)], next_cursor: null });
    }
    const found: StoredTenant[] = [];
    for await (const tenant of backend.access.tenants(BY_TENANT.placeOf(cursor)?.tenant)) {
      found.push(tenant);
      if (found.length > limit) break;
    }
    const { page, next_cursor } = BY_TENANT.pageIn(found, limit);
    return ok({ tenants: page.map(tenantJson), next_cursor });
  },
});

const tenantParams = z.object({ tenant: tenantSchema });
const ofTenant = {
  right: 'administer',
  problems: ['tenant-invalid', 'right-missing'],
  params: tenantParams,
  answers: { 200: tenantView },
} as const;

/** A caller of one tenant neither knows other tenants nor may change its own. */
function ruledTenant(principal: Principal, named: string): TenantId {
  const tenant = tenantFor(principal, named, DEFAULT_TENANT);
  if (principal.tenant === null) return tenant;
  throw new AccessError('right-missing', 'tenant: only an administrator of all tenants may do this.');
}

export const createTenant = route({
  ...ofTenant,
  method: 'PUT',
  path: '/v1/tenants/{tenant}',
  summary: 'Create a tenant',
  description: 'One that exists is not changed. For callers of all tenants.',
  edges: {
    commands: [
      {
        name: 'access create-tenant',
        about: 'create a tenant',
        creates: true,
        signs: true,
        takes: { tenant: ['<name>', 'its name'] },
        says: 'Tenant {tenant} stands, created {created_at}.',
      },
    ],
  },
  handle: async ({ params, principal, backend }) =>
    ok(tenantJson(await backend.access.createTenant(ruledTenant(principal, params.tenant), principal.subject))),
});

type ChangeCall = Call<z.output<typeof tenantParams>, undefined, z.output<typeof askSchema>>;

async function suspended({ params, body, principal, backend }: ChangeCall, isSuspended: boolean) {
  const by = { by: principal.subject, why: body.why };
  return ok(tenantJson(await backend.access.suspendTenant(ruledTenant(principal, params.tenant), isSuspended, by)));
}

export const suspendTenant = route({
  ...ofTenant,
  method: 'POST',
  path: '/v1/tenants/{tenant}/suspend',
  summary: 'Suspend a tenant',
  description:
    'Within seconds nobody of it is let in, by key or by token; its workflows keep running. For callers of all tenants.',
  edges: {
    commands: [
      {
        name: 'access suspend-tenant',
        about: 'suspend a tenant: nobody of it is let in; its workflows keep running',
        creates: true,
        takes: { tenant: ['<name>', 'its name'] },
        options: { why: 'it' },
        says: 'Nobody of {tenant} is let in over HTTP any more, within seconds. Its workflows keep running.',
      },
    ],
  },
  body: askSchema,
  handle: (call) => suspended(call, true),
});

export const resumeTenant = route({
  ...ofTenant,
  method: 'POST',
  path: '/v1/tenants/{tenant}/resume',
  summary: 'Lift the suspension of a tenant',
  edges: {
    commands: [
      {
        name: 'access resume-tenant',
        about: 'lift the suspension of a tenant',
        takes: { tenant: ['<name>', 'its name'] },
        options: { why: 'it' },
        says: '{tenant} is let in again.',
      },
    ],
  },
  body: askSchema,
  handle: (call) => suspended(call, false),
});
