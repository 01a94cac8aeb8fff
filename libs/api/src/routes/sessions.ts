/** Owns the routes about sessions: where one stands, handing it over, and what is remembered of a user. */

import { DEFAULT_TENANT, InvalidError, isoTime, type TenantId } from '@tidemark/core';
import { sessionBrief } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor, tenantToChange } from '../desk.ts';
import { type Asked, ok, route, type Told } from '../route.ts';
import { jsonSchema, nameSchema, tenantSchema, textSchema, timeSchema } from '../schemas/common.ts';
import { content } from '../sight.ts';

const CHAPTER = 'Sessions and memory';
const sessionParams = z.object({ session: nameSchema });
const whose = z.object({ tenant: tenantSchema.optional() });

const told = (target: unknown, { query }: Asked): readonly Told[] => [
  { target: String(target), tenant: (query.tenant ?? DEFAULT_TENANT) as TenantId },
];
const tellsSession = (asked: Asked) => told(asked.params.session, asked);

export const getSession = route({
  method: 'GET',
  path: '/v1/sessions/{session}',
  name: 'getSession',
  summary: 'Where a session stands',
  description:
    'Its live workflow (or the newest): what it believes, waits for and asks; what those before left in words, and hand-overs. All that somebody needs to go on with it.',
  chapter: CHAPTER,
  right: 'content',
  problems: ['session-unknown', 'tenant-unknown'],
  params: sessionParams,
  query: whose,
  tells: tellsSession,
  answers: {
    200: z
      .object({
        session: z.string(),
        tenant: z.string(),
        user: z.string().nullable(),
        is_live: z.boolean(),
        workflow: content(jsonSchema),
        earlier: z
          .array(z.object({ workflow: z.string(), definition: z.string(), status: z.string(), opened_at: timeSchema }))
          .readonly(),
        handovers: content(jsonSchema),
        summaries: content(jsonSchema),
      })
      .meta({ id: 'Session' }),
  },
  async handle({ params, query, principal, desk }) {
    const tenant = tenantFor(principal, query.tenant, DEFAULT_TENANT);
    const brief = await sessionBrief(desk.reads, tenant, params.session);
    if (brief === undefined) {
      throw new InvalidError('session-unknown', `No session is named '${params.session}'.`);
    }
    const { workflow, handovers, summaries, ...rest } = brief;
    const told = JSON.parse(JSON.stringify({ workflow, handovers, summaries }));
    return ok({ ...rest, ...told });
  },
});

export const handOver = route({
  method: 'POST',
  path: '/v1/sessions/{session}/handovers',
  name: 'handOver',
  summary: 'Hand a session over',
  description: 'Who goes on and what they need to know; the next workflow of the session is told.',
  chapter: CHAPTER,
  right: 'operate',
  problems: ['handover-invalid', 'tenant-unknown', 'tenant-invalid'],
  params: sessionParams,
  query: whose,
  tells: tellsSession,
  body: z
    .strictObject({
      from: nameSchema,
      to: nameSchema,
      message: textSchema,
      artifacts: z.array(nameSchema).max(100).default([]),
    })
    .meta({ id: 'HandOver' }),
  answers: {
    200: z
      .object({
        session: z.string(),
        is_known: z.boolean().meta({ description: 'False: no workflow of it was started yet; the first is told.' }),
      })
      .meta({ id: 'HandedOver' }),
  },
  async handle({ params: { session }, query, body, principal, desk }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const known = await desk.reads.search({ tenant, session, limit: 1 });
    await desk.client.memory.handOver(tenant, session, body);
    return ok({ session, is_known: known.length > 0 });
  },
});

export const recallMemories = route({
  method: 'GET',
  path: '/v1/users/{user}/recall',
  name: 'recall',
  summary: 'What is remembered of a user that fits a query',
  description:
    'The best first: summaries of sessions, facts and preferences, by words and, where an embedder is configured, by meaning.',
  chapter: CHAPTER,
  right: 'content',
  problems: ['tenant-unknown'],
  params: z.object({ user: nameSchema }),
  query: whose.extend({
    query: z.string().min(1).max(2_000),
    limit: z.coerce.number().int().min(1).max(50).default(3),
    kind: z.enum(['summary', 'fact', 'state', 'record']).optional(),
  }),
  tells: (asked) => told(asked.params.user, asked),
  answers: {
    200: z
      .object({
        by: z.string(),
        warning: z.string().nullable(),
        entries: z.array(
          z.object({
            kind: z.string(),
            key: z.string(),
            score: z.number(),
            at: timeSchema,
            source: z.string(),
            value: content(jsonSchema),
          }),
        ),
      })
      .meta({ id: 'Recall' }),
  },
  async handle({ params, query, principal, desk }) {
    const tenant = tenantFor(principal, query.tenant, DEFAULT_TENANT);
    const { query: asked, limit, kind } = query;
    const kinds = kind === undefined ? {} : { kinds: [kind] };
    const found = await desk.client.memory.recall(tenant, { user: params.user, query: asked, limit, ...kinds });
    const entries = found.entries.map(({ memory, score }) => ({
      ...{ kind: memory.kind, key: memory.key, source: memory.source, at: isoTime(memory.atMs) },
      score,
      value: JSON.parse(memory.value),
    }));
    return ok({ by: found.by, warning: found.warning?.message ?? null, entries });
  },
});
