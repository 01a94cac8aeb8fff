/** Owns the routes that show what only auditors may see: the audit log, and fields that schemas mark as secret. Each read is itself recorded. */

import { auditPage } from '@tidemark/access';
import { DEFAULT_TENANT, isoTime, type Json } from '@tidemark/core';
import { RIGHTS, ROLES } from '@tidemark/ports';
import { z } from 'zod';
import { tenantFor, unknownWorkflow } from '../backend.ts';
import { BY_ENTRY } from '../cursor.ts';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import {
  jsonSchema,
  nameSchema,
  nextCursorSchema,
  paged,
  tenantSchema,
  timeSchema,
  workflowParams,
} from '../schemas/common.ts';
import { beliefOf, inputOf } from '../shapes/belief.ts';
import { endingOf } from '../shapes/ending.ts';

const entrySchema = z
  .object({
    id: z.string(),
    at: timeSchema,
    subject: z.string(),
    kind: z.string().meta({ description: 'What the caller showed: `key` or `token`; `local`: the owner.' }),
    roles: z.array(z.enum(ROLES)),
    of: z.string().nullable().meta({ description: "The caller's tenant; null: of all." }),
    action: z.string().meta({ description: "The operation's name in this document." }),
    right: z.enum(RIGHTS),
    target: z.string().nullable().meta({ description: 'The id of a workflow, a key, a job, …' }),
    outcome: z.enum(['done', 'refused', 'failed']),
    code: z.string().nullable().meta({ description: 'Code of the problem, where it was not done.' }),
  })
  .meta({ id: 'AuditEntry', description: 'Who did what to what. Never a payload, a secret or an error in words.' });

const instant = z.iso.datetime({ offset: true });

export const listAudit = route({
  method: 'GET',
  path: '/v1/audit',
  summary: 'Who read and did what, the newest first',
  description:
    "Of one tenant: the caller's own, or the named one (by default `default`; `~tidemark` has what is no tenant's). All given filters must match. Where few entries match, a page may hold few or none and still have a `next_cursor`: read on until that is null. Reading the audit is recorded, too. The newest entries may follow a second later.",
  right: 'administer',
  problems: ['history-recalled'],
  query: z.object({
    tenant: tenantSchema.optional(),
    subject: nameSchema.optional().meta({ description: '`key:ID`, `token:SUBJECT`.' }),
    action: nameSchema.optional(),
    target: nameSchema.optional(),
    outcome: z.enum(['done', 'refused', 'failed']).optional(),
    from: instant.optional().meta({ description: 'From then on.' }),
    to: instant.optional().meta({ description: 'Before then.' }),
    ...paged,
  }),
  answers: { 200: z.object({ entries: z.array(entrySchema), next_cursor: nextCursorSchema }) },
  async handle({ query, principal, backend }) {
    const { subject, action, target, outcome, from, to, limit, cursor } = query;
    const page = await auditPage(backend.ports.store, {
      ...{ subject, action, target, outcome },
      tenant: tenantFor(principal, query.tenant, DEFAULT_TENANT),
      fromMs: from === undefined ? undefined : Date.parse(from),
      toMs: to === undefined ? undefined : Date.parse(to),
      before: BY_ENTRY.placeOf(cursor),
      limit,
    });
    const entries = page.entries.map(({ atMs, roles, ...entry }) => ({
      ...entry,
      roles: [...roles],
      at: isoTime(atMs),
    }));
    return ok({ entries, next_cursor: page.next && BY_ENTRY.cursorOf(page.next) });
  },
});

export const getSecrets = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/secrets',
  summary: 'A workflow with its secret fields',
  description:
    'Input, belief and output, with the fields that their schemas mark as secret, which are a mask in every other answer. Where this process has no key to secrets, they are a mask here too.',
  right: 'secrets',
  params: workflowParams,
  answers: {
    200: z
      .object({
        workflow: z.string(),
        input: content(jsonSchema),
        belief: content(jsonSchema),
        output: content(jsonSchema).meta({ description: 'Once it has completed.' }),
      })
      .meta({ id: 'Secrets' }),
  },
  async handle({ params, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const { store } = backend.ports;
    const row = await store.workflow(workflow);
    if (row === undefined) throw unknownWorkflow(params.workflow);
    const shown = (value: Json): Promise<Json> => backend.client.reveal(workflow, value);
    const ending = endingOf(row);
    return ok({
      workflow,
      input: await shown((await inputOf(store, workflow)) ?? null),
      belief: await shown(await beliefOf(store, row)),
      ...(ending?.kind === 'completed' && { output: await shown(ending.output) }),
    });
  },
});
