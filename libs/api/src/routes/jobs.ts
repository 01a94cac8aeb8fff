/** Owns the routes of bulk jobs: one thing done to many workflows, with progress. */

import { AccessError, InvalidError, isoTime, type Json, SYSTEM_TENANT, uuidv7 } from '@tidemark/core';
import { mayDo, type Principal } from '@tidemark/ports';
import { BULK_ACTS, type BulkJob } from '@tidemark/runtime';
import { z } from 'zod';
import { type Desk, maySee, tenantFor } from '../desk.ts';
import { content, ok, route } from '../route.ts';
import { byWhy, givenJson, limitSchema, nameSchema, tenantSchema, textSchema, timeSchema } from '../schemas/common.ts';
import { statusSchema } from '../schemas/workflow.ts';
import { filterFields, searchOf, tagsSchema } from '../search-filter.ts';
import { checkSignalName } from '../shapes/signal.ts';

const CHAPTER = 'Jobs';

const filter = z
  .strictObject({ ...filterFields, tags: tagsSchema.optional() })
  .meta({ id: 'JobFilter', description: 'As for listing workflows; filters hold together.' });

const jobSchema = z
  .object({
    job: z.string(),
    status: statusSchema.meta({ description: '`open` while it works.' }),
    reason: z.string().nullable(),
    act: z.enum(BULK_ACTS),
    by: z.string(),
    why: content(textSchema),
    begun_at: timeSchema,
    done_count: z.int(),
    refused_count: z.int(),
    refused: z
      .array(z.object({ workflow: z.string(), code: z.string(), message: z.string() }))
      .meta({ description: 'The first hundred of those that refused.' }),
  })
  .meta({ id: 'Job' });

export const startJob = route({
  method: 'POST',
  path: '/v1/jobs',
  name: 'startJob',
  summary: 'Do one thing to many workflows',
  description:
    'Answered once the job is durable; workers do it, page by page, newest first. With an `id` it may be sent again. Workflows that are opened meanwhile are not among them. At least one filter beside `tenant` must be given, or `everything`. `retry` needs the right to decide.',
  chapter: CHAPTER,
  right: 'operate',
  problems: [
    'filter-missing',
    'signal-invalid',
    'signal-reserved',
    'workflow-differs',
    'tenant-unknown',
    'right-missing',
  ],
  body: z
    .strictObject({
      id: nameSchema.max(100).optional(),
      act: z.enum(BULK_ACTS),
      filter,
      everything: z.literal(true).optional().meta({ description: 'All workflows that may be seen are meant.' }),
      ...byWhy,
      signal: z.strictObject({ name: nameSchema, value: givenJson.optional() }).optional(),
    })
    .meta({ id: 'StartJob' }),
  answers: { 202: z.object({ job: z.string(), created: z.boolean() }).meta({ id: 'JobStarted' }) },
  async handle({ body, principal, desk }) {
    const { act, everything, why, signal } = body;
    if (act === 'retry' && !mayDo(principal, 'decide')) {
      throw new AccessError('right-missing', "act: 'retry' answers questions, which needs the right to decide.");
    }
    if (signal !== undefined) checkSignalName(signal.name);
    const { tenant: _, ...fits } = body.filter;
    if (everything !== true && Object.values(fits).every((value) => value === undefined)) {
      throw new InvalidError('filter-missing', 'filter: give at least one beside tenant, or everything: true.');
    }
    const { clock, prng } = desk.ports;
    const id = body.id ?? uuidv7(clock.nowMs(), prng.bytes(10));
    const search = searchOf(body.filter, principal);
    const { created } = await desk.client.bulk.start({
      ...{ id, act, by: principal.subject, why, tenant: search.tenant ?? SYSTEM_TENANT },
      filter: search,
      signal: signal === undefined ? null : { name: signal.name, value: (signal.value ?? null) as Json },
    });
    return { status: 202 as const, body: { job: id, created } };
  },
});

export const getJob = route({
  method: 'GET',
  path: '/v1/jobs/{job}',
  name: 'getJob',
  summary: 'Tell how far a job is',
  chapter: CHAPTER,
  right: 'read',
  problems: ['job-unknown'],
  params: z.object({ job: nameSchema }),
  answers: { 200: jobSchema },
  handle: async ({ params, principal, desk }) => ok(jobJson(await jobOf(desk, principal, params.job))),
});

export const cancelJob = route({
  method: 'POST',
  path: '/v1/jobs/{job}/cancel',
  name: 'cancelJob',
  summary: 'Stop a job',
  description: 'What it has done stays done; it ends as `failed` with the reason `cancelled`.',
  chapter: CHAPTER,
  right: 'operate',
  problems: ['job-unknown', 'workflow-closed'],
  params: z.object({ job: nameSchema }),
  body: z.strictObject({ ...byWhy }).meta({ id: 'CancelJob' }),
  answers: {
    200: z.object({ job: z.string(), changed: z.boolean().meta({ description: 'False: it was asked before.' }) }),
  },
  async handle({ params, body, principal, desk }) {
    const { id } = await jobOf(desk, principal, params.job);
    const { changed } = await desk.client.bulk.cancel(id, { by: principal.subject, why: body.why });
    return ok({ job: id, changed });
  },
});

async function jobOf({ client }: Desk, principal: Principal, id: string): Promise<BulkJob> {
  const job = await client.bulk.get(id);
  if (job === undefined || !maySee(principal, job.tenant)) {
    throw new InvalidError('job-unknown', `No job has the id '${id}'.`);
  }
  return job;
}

export const listJobs = route({
  method: 'GET',
  path: '/v1/jobs',
  name: 'listJobs',
  summary: 'List jobs, newest first',
  chapter: CHAPTER,
  right: 'read',
  problems: ['tenant-unknown'],
  query: z.object({ tenant: tenantSchema.optional(), limit: limitSchema }),
  answers: { 200: z.object({ jobs: z.array(jobSchema) }).meta({ id: 'Jobs' }) },
  async handle({ query: { tenant, limit }, principal, desk }) {
    const jobs = await desk.client.bulk.list({ tenant: tenantFor(principal, tenant, undefined), limit });
    return ok({ jobs: jobs.map(jobJson) });
  },
});

const jobJson = (job: BulkJob) => ({
  job: job.id,
  status: job.status,
  reason: job.reason,
  act: job.act,
  by: job.by,
  why: job.why,
  begun_at: isoTime(job.openedAtMs),
  done_count: job.doneCount,
  refused_count: job.refusedCount,
  refused: [...job.refused],
});
