/** Owns the routes of bulk jobs: one thing done to many workflows, with progress. */

import { assigneeNames } from '@tidemark/access';
import { ConflictError, InvalidError, isoTime, type Json, LimitError, SYSTEM_TENANT, uuidv7 } from '@tidemark/core';
import { mayDo, type Principal } from '@tidemark/ports';
import { BULK_ACTS, type BulkAnswer, type BulkJob, RESOLUTIONS } from '@tidemark/runtime';
import { z } from 'zod';
import { type Backend, maySee, tenantFor, tenantToChange } from '../backend.ts';
import { BY_OPENING } from '../cursor.ts';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import {
  byWhy,
  contentQuerySchema,
  givenJson,
  nameSchema,
  nextCursorSchema,
  paged,
  tenantSchema,
  textSchema,
  timeSchema,
} from '../schemas/common.ts';
import { resetFields, resetSchema } from '../schemas/reset.ts';
import { statusSchema } from '../schemas/workflow.ts';
import { filterFields, searchOf, tagsSchema } from '../search-filter.ts';
import { resetBy, resetJson } from '../shapes/reset.ts';

/** Resets that a preview of a job shows. */
const RESETS_SHOWN_COUNT = 100;

const resetSchemaOfJob = z.strictObject(resetFields).meta({ id: 'JobReset' });
const answerSchemaOfJob = z
  .union([
    z.strictObject({
      approved: z.boolean(),
      name: nameSchema.optional().meta({ description: 'Approvals of this name; absent: of any.' }),
      value: givenJson.optional().meta({ description: "What is entered in the form; the form's defaults count." }),
    }),
    z.strictObject({ resolution: z.enum(RESOLUTIONS), response: givenJson.optional() }),
  ])
  .meta({
    id: 'JobAnswer',
    description: 'To approvals that are open when the job begins, or to the question of each.',
  });

/** Workflows that are read to count what a job would find. */
const JOB_COUNT_MAX_COUNT = 10_000;

const filter = z
  .strictObject({ ...filterFields, tags: tagsSchema.optional(), roots: z.literal(true).optional() })
  .meta({ id: 'JobFilter', description: 'As for listing workflows; a workflow must fit all filters.' });

const jobSchema = z
  .object({
    job: z.string(),
    tenant: z.string().nullable().meta({ description: 'Null: it is over all tenants.' }),
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

export const countJob = route({
  method: 'POST',
  path: '/v1/jobs/count',
  summary: 'Count what a job would find',
  description:
    'As of now, and nothing is changed: schedules and undos that the filter does not name are left out, as by the job.',
  right: 'read',
  problems: ['tenant-unknown', 'definition-unknown'],
  needs: [
    {
      of: 'operate',
      when: ({ body }) => (body as { readonly reset?: object }).reset !== undefined,
      why: 'reset: it reads as many histories as it would reset, which needs the right to operate.',
    },
  ],
  body: z
    .strictObject({
      filter,
      reset: resetSchemaOfJob.optional().meta({ description: 'Also says what this reset would do to each of them.' }),
    })
    .meta({ id: 'CountJob' }),
  answers: {
    200: z
      .object({
        count: z.int(),
        has_more: z.boolean().meta({ description: `No more than about ${JOB_COUNT_MAX_COUNT} are counted.` }),
        statuses: z.record(z.string(), z.int()).meta({ description: 'How many there are of each.' }),
        newest: z.array(z.string()).meta({ description: 'Some of them.' }),
        resets: z
          .array(z.union([resetSchema, z.object({ workflow: z.string(), code: z.string(), message: z.string() })]))
          .optional()
          .meta({ description: 'What the reset would do to the newest hundred, or why one would be refused.' }),
      })
      .meta({ id: 'JobCount' }),
  },
  async handle({ body: { filter: asked, reset }, principal, backend }) {
    const shown = reset === undefined ? undefined : RESETS_SHOWN_COUNT;
    const { count, hasMore, statuses, some } = await backend.client.bulk.count(
      searchOf(asked, principal),
      JOB_COUNT_MAX_COUNT,
      shown,
    );
    const resets = reset && (await plannedResets(backend, principal, some, reset));
    return ok({ count, has_more: hasMore, statuses, newest: [...some], ...(resets !== undefined && { resets }) });
  },
});

/** One after the other: each reads a history. */
async function plannedResets(
  backend: Backend,
  principal: Principal,
  workflows: readonly string[],
  reset: z.output<typeof resetSchemaOfJob>,
) {
  const planned = [];
  for (const workflow of workflows) {
    const options = {
      ...resetOfJob(reset),
      ...resetBy(principal, backend),
      // Nothing is decided by a plan.
      admit: undefined,
      why: 'a plan',
      isExact: true,
      dryRun: true,
    };
    try {
      planned.push(resetJson(await backend.client.reset(workflow, { ...options, id: `plan:${workflow}` })));
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof InvalidError || error instanceof LimitError))
        throw error;
      planned.push({ workflow, code: error.code, message: error.message });
    }
  }
  return planned;
}

const resetOfJob = ({ last, at, ...reset }: z.output<typeof resetSchemaOfJob>) => ({
  ...reset,
  at: last === true ? ('last' as const) : at,
});

export const startJob = route({
  method: 'POST',
  path: '/v1/jobs',
  summary: 'Start a job: one action on many workflows',
  description:
    'Answered once the job is durable; workers do it, page by page, newest first. With an `id` it may be sent again. Workflows that are opened meanwhile are not included. At least one filter beside `tenant` must be given, or `everything`; an empty list of tags, and a text without a letter or digit, are no filters. `retry`, `answer` and `reset` need the right to decide; the first two answer only what was asked when the job began. `reset` leaves out what another run supersedes or continues.',
  right: 'operate',
  problems: [
    'tenant-unknown',
    'filter-missing',
    'signal-invalid',
    'signal-reserved',
    'answer-invalid',
    'reset-invalid',
    'workflow-differs',
    'tenant-invalid',
  ],
  needs: [
    {
      of: 'decide',
      when: ({ body }) => ['retry', 'answer', 'reset'].includes((body as { readonly act: string }).act),
      why: "act: 'retry', 'answer' and 'reset' take the place of people's answers, which needs the right to decide.",
    },
  ],
  body: z
    .strictObject({
      id: nameSchema.max(100).optional(),
      act: z.enum(BULK_ACTS),
      filter,
      everything: z.literal(true).optional().meta({ description: 'All workflows that may be seen are meant.' }),
      ...byWhy,
      signal: z.strictObject({ name: nameSchema, value: givenJson.optional() }).optional(),
      answer: answerSchemaOfJob.optional(),
      reset: resetSchemaOfJob.optional(),
    })
    .meta({ id: 'StartJob' }),
  answers: { 202: z.object({ job: z.string(), created: z.boolean() }).meta({ id: 'JobStarted' }) },
  async handle({ body, principal, backend }) {
    const { act, everything, why, signal, reset } = body;
    const { clock, prng } = backend.ports;
    const id = body.id ?? uuidv7(clock.nowMs(), prng.bytes(10));
    const search = searchOf(body.filter, principal);
    const tenant = tenantToChange(principal, body.filter.tenant, SYSTEM_TENANT);
    const { created } = await backend.client.bulk.start({
      ...{ id, act, by: principal.subject, why, tenant },
      ...{ filter: search, everything, definitions: backend.definitions },
      signal: signal === undefined ? null : { name: signal.name, value: (signal.value ?? null) as Json },
      answer: body.answer && answerOf(body.answer, principal),
      reset: reset && resetOfJob(reset),
    });
    return { status: 202 as const, body: { job: id, created } };
  },
});

/** The names under which the caller may answer go along: an admin may answer for anybody. */
function answerOf(answer: z.output<typeof answerSchemaOfJob>, principal: Principal): BulkAnswer {
  if ('resolution' in answer) return answer as BulkAnswer;
  const names = mayDo(principal, 'administer') ? null : assigneeNames(principal);
  return { ...answer, value: answer.value as Json | undefined, names };
}

const ofTenant = z.object({
  tenant: nameSchema.optional().meta({
    description:
      "Whose job; by default the caller's own, or for a caller of all tenants the one over all of them, or else the only one of that id.",
  }),
});

export const getJob = route({
  method: 'GET',
  path: '/v1/jobs/{job}',
  summary: 'Progress of a job',
  right: 'read',
  problems: ['job-unknown', 'job-ambiguous'],
  params: z.object({ job: nameSchema }),
  query: ofTenant.extend({ content: contentQuerySchema }),
  answers: { 200: jobSchema },
  edges: {
    commands: [
      {
        name: 'jobs show',
        about: 'how far a job is, and what refused',
        takes: { job: ['<id>', 'id of the job'] },
        options: { tenant: 'of this tenant only' },
        says: '{job}  {act}  {status}  {done_count} done, {refused_count} refused; begun {begun_at} by {by}: {why}',
        rows: {
          of: 'refused',
          none: 'Nothing refused it.',
          columns: [
            ['REFUSED BY', '{workflow}'],
            ['CODE', '{code}'],
            ['MESSAGE', '{message}', 20],
          ],
        },
      },
    ],
  },
  handle: async ({ params, query, principal, backend }) =>
    ok(jobJson(await jobOf(backend, principal, params.job, query.tenant))),
});

export const cancelJob = route({
  method: 'POST',
  path: '/v1/jobs/{job}/cancel',
  summary: 'Stop a job',
  description: 'What it has done stays done; it ends as `failed` with the reason `cancelled`.',
  right: 'operate',
  problems: ['job-unknown', 'job-ambiguous', 'workflow-closed'],
  params: z.object({ job: nameSchema }),
  query: ofTenant,
  body: z.strictObject({ ...byWhy }).meta({ id: 'CancelJob' }),
  answers: {
    200: z.object({ job: z.string(), changed: z.boolean().meta({ description: 'False: it was requested before.' }) }),
  },
  edges: {
    commands: [
      {
        name: 'jobs cancel',
        about: 'stop a job; what it has done stays done',
        takes: { job: ['<id>', 'id of the job'] },
        options: { tenant: 'of this tenant only' },
        says: [['changed', 'Job {job} stops; what it has done stays done.'], 'Job {job} was cancelled before.'],
      },
    ],
  },
  async handle({ params, query, body, principal, backend }) {
    const { id, tenant } = await jobOf(backend, principal, params.job, query.tenant);
    const { changed } = await backend.client.bulk.cancel(id, { by: principal.subject, why: body.why }, tenant);
    return ok({ job: id, changed });
  },
});

/** Also of one that has just been started, and that rows don't have yet. */
async function jobOf(backend: Backend, principal: Principal, id: string, named?: string): Promise<BulkJob> {
  const { bulk } = backend.client;
  const tenant = tenantFor(principal, named, undefined) ?? null;
  const get = () => bulk.get(id, tenant);
  const started = () => backend.starting(principal, bulk.workflowOf(id, tenant ?? SYSTEM_TENANT));
  const job = (await get()) ?? ((await started()) && (await get()));
  if (job === undefined || !maySee(principal, job.tenant)) {
    throw new InvalidError('job-unknown', `No job has the id '${id}'.`);
  }
  return job;
}

export const listJobs = route({
  method: 'GET',
  path: '/v1/jobs',
  summary: 'List jobs, newest first',
  right: 'read',
  query: z.object({
    tenant: tenantSchema.optional(),
    content: contentQuerySchema,
    ...paged,
  }),
  answers: { 200: z.object({ jobs: z.array(jobSchema), next_cursor: nextCursorSchema }).meta({ id: 'Jobs' }) },
  edges: {
    commands: [
      {
        name: 'jobs list',
        about: 'jobs, newest first',
        isDefault: true,
        options: { tenant: 'of this tenant only' },
        rows: {
          of: 'jobs',
          none: [['tenant', 'No jobs of {tenant}.'], 'No jobs.'],
          columns: [
            ['JOB', '{job}'],
            ['ACT', '{act}'],
            ['STATUS', '{status}'],
            ['DONE', '{done_count}', 'right'],
            ['REFUSED', '{refused_count}', 'right'],
            ['BEGUN', '{begun_at}'],
            ['BY', '{by}', 8],
            ['WHY', '{why}', 8],
          ],
        },
      },
    ],
  },
  async handle({ query: { tenant, limit, cursor }, principal, backend }) {
    const of = tenantFor(principal, tenant, undefined);
    const after = BY_OPENING.placeOf(cursor);
    const { jobs, next } = await backend.client.bulk.page({ tenant: of, limit, after });
    return ok({ jobs: jobs.map(jobJson), next_cursor: next && BY_OPENING.cursorOf(next) });
  },
});

const jobJson = (job: BulkJob) => ({
  job: job.id,
  tenant: job.tenant === SYSTEM_TENANT ? null : job.tenant,
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
