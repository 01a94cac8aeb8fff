/** Owns the routes about how long a tenant's archived history is kept, and about legal holds, which override that. */

import { DEFAULT_TENANT } from '@tidemark/core';
import type { LegalHold } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor, tenantToChange } from '../backend.ts';
import { ok, type RequestParts, route } from '../route.ts';
import { byWhy, nameSchema, workflowIdSchema } from '../schemas/common.ts';
import { reported, whose } from '../whose.ts';

const shared = { right: 'administer', query: whose } as const;

const milliseconds = z.int().min(1);
const policySchema = z
  .strictObject({
    warm_ms: milliseconds.meta({ description: 'After its last event; then it moves to the cold store.' }),
    keep_ms: milliseconds.nullable().meta({ description: 'Then it is deleted permanently; null: never.' }),
  })
  .meta({ id: 'RetentionPolicy' });
const policyOfTenant = policySchema.nullable().meta({ description: "Null: none of its own; the compactors' decides." });

const holdSchema = z
  .object({
    hold: z.string(),
    workflow: z.string().nullable().meta({ description: "Null: all of the tenant's." }),
    by: z.string(),
    why: z.string(),
  })
  .meta({ id: 'Hold', description: 'Nothing that it covers is deleted while it stands.' });
const holdJson = ({ id, workflow, by, why }: LegalHold) => ({ hold: id, workflow, by, why });

const ofTenant = (request: RequestParts) => reported('retention', request);

export const getRetention = route({
  ...shared,
  method: 'GET',
  path: '/v1/retention',
  summary: "How long a tenant's archived history is kept, and what is held",
  problems: ['holds-too-many'],
  reports: ofTenant,
  answers: { 200: z.object({ tenant: z.string(), policy: policyOfTenant, holds: z.array(holdSchema) }) },
  async handle({ query, principal, backend }) {
    const tenant = tenantFor(principal, query.tenant, DEFAULT_TENANT);
    const { policy, holds } = await backend.client.memory.retention(tenant);
    const shown = policy === null ? null : { warm_ms: policy.warmMs, keep_ms: policy.keepMs };
    return ok({ tenant, policy: shown, holds: holds.map(holdJson) });
  },
});

export const setRetention = route({
  ...shared,
  method: 'PUT',
  path: '/v1/retention',
  summary: "Say how long a tenant's archived history is kept",
  description: 'Compactors keep to it from their next pass on.',
  problems: ['tenant-invalid', 'retention-invalid'],
  reports: ofTenant,
  body: z.strictObject({ policy: policyOfTenant }).meta({ id: 'NewRetention' }),
  answers: { 200: z.object({ tenant: z.string(), policy: policyOfTenant }) },
  async handle({ query, body: { policy }, principal, backend }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const set = policy === null ? null : { warmMs: policy.warm_ms, keepMs: policy.keep_ms };
    await backend.client.memory.setRetention(tenant, set);
    return ok({ tenant, policy });
  },
});

export const holdHistory = route({
  ...shared,
  method: 'POST',
  path: '/v1/retention/holds',
  summary: "Keep a workflow's history, or all of the tenant's, whatever its policy says",
  description: 'The same hold again changes nothing; another one by that name is refused while it stands.',
  problems: ['workflow-unknown', 'hold-elsewhere', 'hold-taken', 'tenant-invalid'],
  reports: (request) => reported((request.body as { readonly hold: string } | undefined)?.hold ?? 'retention', request),
  body: z
    .strictObject({
      hold: nameSchema.meta({ description: 'Its name, by which it is released.' }),
      workflow: workflowIdSchema.optional().meta({ description: "Without one: all of the tenant's." }),
      ...byWhy,
    })
    .meta({ id: 'NewHold' }),
  answers: { 200: holdSchema },
  edges: {
    commands: [
      {
        name: 'retention hold',
        about: 'keep the history of a run (--workflow), or else all of the tenant’s, whatever its policy says',
        takes: { hold: ['<name>', 'name of the hold'] },
        options: {
          tenant: 'whose it is (default: default)',
          workflow: 'the run; without it all of the tenant’s',
          why: 'the hold',
        },
        says: [
          [
            'tenant',
            'Nothing of {workflow|the tenant} is deleted until tidemark retention release {hold} --tenant {tenant}.',
          ],
          'Nothing of {workflow|the tenant} is deleted until tidemark retention release {hold}.',
        ],
      },
    ],
  },
  async handle({ query, body, principal, backend }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const workflow = body.workflow === undefined ? null : await backend.check(principal, body.workflow);
    const hold = { id: body.hold, workflow, by: principal.subject, why: body.why };
    await backend.client.memory.hold(tenant, hold);
    return ok(holdJson(hold));
  },
});

export const releaseHold = route({
  ...shared,
  method: 'DELETE',
  path: '/v1/retention/holds/{hold}',
  summary: 'Release a hold',
  problems: ['hold-unknown', 'tenant-invalid'],
  params: z.object({ hold: nameSchema }),
  reports: (request) => reported(request.params.hold, request),
  answers: { 200: z.object({ hold: z.string() }) },
  edges: {
    commands: [
      {
        name: 'retention release',
        about: 'let the policy decide again',
        takes: { hold: ['<name>', 'name of the hold'] },
        options: { tenant: 'whose it is (default: default)' },
        says: 'Hold {hold} is released.',
      },
    ],
  },
  async handle({ params: { hold }, query, principal, backend }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    await backend.client.memory.release(tenant, hold);
    return ok({ hold });
  },
});
