/** Owns the routes about records that outlast a run: what a pipeline has done under which key, and what was handed over to it. */

import { parseContent } from '@tidemark/codec';
import { DEFAULT_TENANT, isoTime } from '@tidemark/core';
import { MEMORIES_PER_CHECKPOINT_MAX } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor, tenantToChange } from '../backend.ts';
import { BY_KEY } from '../cursor.ts';
import { content } from '../redaction.ts';
import { ok, type RequestParts, route } from '../route.ts';
import { givenJson, jsonSchema, nameSchema, nextCursorSchema, paged, timeSchema } from '../schemas/common.ts';
import { reported, whose } from '../whose.ts';

const keySchema = nameSchema.max(256);
const valueSchema = givenJson.refine((value) => value !== undefined, 'give any JSON');
const shared = {
  path: '/v1/records/{subject}',
  // Other subjects hold records of the system that have operations and rights of their own.
  params: z.object({
    subject: nameSchema.regex(/^pipeline:./, 'name a pipeline: pipeline:content').meta({
      description: 'Whose they are: `pipeline:` and its name.',
    }),
  }),
  reports: (request: RequestParts) => reported(request.params.subject, request),
} as const;

export const listRecords = route({
  ...shared,
  method: 'GET',
  summary: 'Records of a pipeline',
  description: 'In the order of their keys.',
  right: 'content',
  query: whose.extend({
    prefix: nameSchema.optional().meta({ description: 'Of which keys begin so.' }),
    ...paged,
  }),
  answers: {
    200: z.object({
      records: z.array(
        z.object({ key: z.string(), at: timeSchema, source: z.string(), value: content(jsonSchema) }).meta({
          id: 'Record',
        }),
      ),
      next_cursor: nextCursorSchema,
    }),
  },
  async handle({ params: { subject }, query: { tenant, prefix, limit, cursor }, principal, backend }) {
    const rows = await backend.reads.memories({
      ...{ tenant: tenantFor(principal, tenant, DEFAULT_TENANT), subject, kind: 'record', limit: limit + 1 },
      ...(prefix !== undefined && { prefix }),
      ...(cursor !== undefined && { after: { kind: 'record', ...BY_KEY.placeOf(cursor)! } }),
    });
    const { page, next_cursor } = BY_KEY.pageIn(rows, limit);
    const records = page.map(({ key, atMs, source, value }) => ({
      ...{ key, at: isoTime(atMs), source, value: parseContent(value) },
    }));
    return ok({ records, next_cursor });
  },
});

export const writeRecords = route({
  ...shared,
  method: 'POST',
  summary: 'Write records of a pipeline',
  description:
    'In one event, answered once readers see them; the former value of a key is replaced, so it may be repeated. What looks like a secret is refused.',
  right: 'operate',
  problems: ['tenant-invalid', 'memory-invalid', 'memory-secret'],
  query: whose,
  body: z
    .strictObject({
      records: z
        .array(z.strictObject({ key: keySchema, value: valueSchema, source: nameSchema.optional() }))
        .min(1)
        .max(MEMORIES_PER_CHECKPOINT_MAX),
    })
    .meta({ id: 'Records' }),
  answers: { 200: z.object({ subject: z.string(), written: z.int() }) },
  async handle({ params: { subject }, query, body: { records }, principal, backend }) {
    const tenant = tenantToChange(principal, query.tenant, DEFAULT_TENANT);
    const writes = records.map(({ key, value, source = principal.subject }) => ({
      ...{ subject, kind: 'record' as const, key, value, source },
    }));
    await backend.client.memory.remember(writes, { tenant });
    return ok({ subject, written: writes.length });
  },
});
