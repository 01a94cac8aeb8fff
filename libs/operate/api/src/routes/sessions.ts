/** Owns the routes about sessions: where one stands, and handing it over. */

import { DEFAULT_TENANT, InvalidError } from '@tidemark/core';
import { sessionBrief } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor, tenantToChange } from '../backend.ts';
import { type Asked, ok, route } from '../route.ts';
import { longTextSchema, nameSchema } from '../schemas/common.ts';
import { sessionSchema } from '../schemas/session.ts';
import { reported, whose } from '../whose.ts';

const CHAPTER = 'Sessions';
const sessionParams = z.object({ session: nameSchema });

const tellsSession = (asked: Asked) => reported(asked.params.session, asked);

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
  reports: tellsSession,
  answers: { 200: sessionSchema },
  async handle({ params, query, principal, backend }) {
    const tenant = tenantFor(principal, query.tenant, DEFAULT_TENANT);
    const brief = await sessionBrief(backend.reads, tenant, params.session);
    if (brief === undefined) {
      throw new InvalidError('session-unknown', `No session is named '${params.session}'.`);
    }
    return ok(brief);
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
  reports: tellsSession,
  body: z
    .strictObject({
      from: nameSchema,
      to: nameSchema,
      message: longTextSchema,
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
  async handle({ params: { session }, query, body, principal, backend }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const known = await backend.reads.search({ tenant, session, limit: 1 });
    await backend.client.memory.handOver(tenant, session, body);
    return ok({ session, is_known: known.length > 0 });
  },
});
