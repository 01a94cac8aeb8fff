/** Owns the routes about all workflows together: the overview, what waits for people, rejected events, storage. */

import { isoTime, type Partition, type TenantId } from '@tidemark/core';
import { z } from 'zod';
import { tenantFor } from '../backend.ts';
import { BY_OPENING, BY_REJECTION, BY_SEGMENT } from '../cursor.ts';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import {
  contentQuerySchema,
  cursorSchema,
  digestSchema,
  limitSchema,
  nextCursorSchema,
  paged,
  spendShape,
  timeSchema,
  workflowParams,
} from '../schemas/common.ts';
import { questionSchema, statusSchema, workflowSchema } from '../schemas/workflow.ts';
import { questionOf } from '../shapes/question.ts';
import { workflowJson } from '../shapes/workflow.ts';
import { whose } from '../whose.ts';

/** Counts for callers of all tenants alone. */
const ofAll = (description: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${description} Null where the caller sees one tenant.` });

export const getFleet = route({
  method: 'GET',
  path: '/v1/fleet',
  summary: 'State of the fleet',
  description: 'Counts, lag, workers and what they hold, queues, throughput, cost. Counted every two seconds at most.',
  right: 'read',
  query: whose,
  answers: {
    200: z
      .object({
        workflows: z.array(z.object({ status: statusSchema, count: z.int() })),
        ready_count: ofAll('Open, and waiting for a worker.'),
        running_count: z.int().meta({ description: 'Held by a worker.' }),
        unappended_count: ofAll('Placed, and not yet known to be in the log.'),
        rejected_count: ofAll('Events that changed nothing.'),
        rows_ready: z.boolean().meta({ description: 'False: rows are being rebuilt from the log.' }),
        lag: z
          .object({ events: z.int(), partitions: z.int() })
          .nullable()
          .meta({ description: 'How far rows are behind the log. Null where the caller sees one tenant.' }),
        partition_count: ofAll('Of the log.'),
        workers: z.array(z.object({ holder: z.string(), alive: z.boolean(), held_count: z.int() })),
        queued: z.array(z.object({ definition: z.string(), count: z.int() })),
        held_queues: z
          .array(z.object({ queue: z.string(), tenant: z.string().nullable(), since: timeSchema }))
          .meta({ description: 'Paused queues: of one tenant, or (null) of all.' }),
        events_per_second: z
          .object({ last_minute: z.number().nullable(), last_five_minutes: z.number().nullable() })
          .nullable()
          .meta({ description: 'Null where the caller sees one tenant.' }),
        spent: z.array(z.object({ hour: timeSchema, ...spendShape })).meta({
          description: 'By model calls, hour by hour, of the last day.',
        }),
      })
      .meta({ id: 'Fleet' }),
  },
  async handle({ query, principal, fleet }) {
    const tenant = tenantFor(principal, query.tenant, undefined) ?? null;
    const events_per_second =
      tenant === null
        ? { last_minute: fleet.eventsPerSecond(60_000), last_five_minutes: fleet.eventsPerSecond(300_000) }
        : null;
    return ok({ ...(await fleet.view(tenant)), events_per_second });
  },
});

interface Questions {
  readonly questions: readonly { readonly workflow: Pick<z.output<typeof workflowSchema>, 'workflow' | 'tenant'> }[];
}

export const listQuestions = route({
  method: 'GET',
  path: '/v1/questions',
  summary: 'List workflows that wait for a person',
  description: 'Parked workflows with what each asks, newest first.',
  right: 'read',
  query: whose.extend({
    content: contentQuerySchema,
    limit: z.coerce.number().int().min(1).max(100).default(50),
    cursor: cursorSchema.optional(),
  }),
  reports: ({ body }) =>
    ((body as Questions | undefined)?.questions ?? []).map(({ workflow: { workflow, tenant } }) => ({
      target: workflow,
      tenant: tenant as TenantId,
    })),
  answers: {
    200: z.object({
      questions: z.array(z.object({ workflow: workflowSchema, question: questionSchema })),
      next_cursor: nextCursorSchema,
    }),
  },
  edges: {
    commands: [
      {
        name: 'questions',
        about: 'workflows that wait for a person, newest first',
        options: { tenant: 'of this tenant only' },
        rows: {
          of: 'questions',
          none: [['tenant', 'No workflow of {tenant} waits for a person.'], 'No workflow waits for a person.'],
          columns: [
            ['WORKFLOW', '{workflow.workflow}'],
            ['OF', '{workflow.definition} v{workflow.definition_version}', 10],
            ['ASKS', '{workflow.reason}'],
            ['SINCE', '{workflow.updated_at}'],
            ['SAYS', '{question.message}', 20],
          ],
          note: 'tidemark show ID shows the evidence, and the commands that answer it.',
        },
      },
    ],
  },
  async handle({ query, principal, backend }) {
    const { limit, cursor } = query;
    const rows = await backend.reads.search({
      status: 'parked',
      tenant: tenantFor(principal, query.tenant, undefined),
      after: BY_OPENING.placeOf(cursor),
      limit: limit + 1,
    });
    const { page, next_cursor } = BY_OPENING.pageIn(rows, limit);
    const asked = await Promise.all(
      page.map(async (row) => ({ row, question: await questionOf(backend.reads, row.workflow) })),
    );
    const questions = asked.flatMap(({ row, question }) =>
      question === null ? [] : [{ workflow: workflowJson(row, false), question }],
    );
    return ok({ questions, next_cursor });
  },
});

export const listRejected = route({
  method: 'GET',
  path: '/v1/rejected',
  summary: 'Events that changed nothing, and why',
  description:
    'The newest, kept for audit: what a holder wrote that had lost its lease, second copies, foreign records. Most follow from take-overs, and are expected.',
  right: 'read',
  query: z.object({ content: contentQuerySchema, ...paged }),
  reports: ({ body }) =>
    (
      (body as { readonly rejected: readonly { readonly workflow: string | null }[] } | undefined)?.rejected ?? []
    ).flatMap(({ workflow }) => (workflow === null ? [] : [{ target: workflow }])),
  answers: {
    200: z.object({
      rejected: z.array(
        z.object({
          partition: z.int(),
          offset: z.int(),
          workflow: z.string().nullable(),
          type: z.string().nullable(),
          reason: z.string(),
          evidence: content(z.string()).meta({ description: 'Clear parts of the record, as JSON; never its payload.' }),
          at: timeSchema.nullable(),
        }),
      ),
      next_cursor: nextCursorSchema,
    }),
  },
  edges: {
    commands: [
      {
        name: 'rejected',
        about: 'events that changed nothing, and why, newest first',
        rows: {
          of: 'rejected',
          none: 'Nothing was rejected.',
          columns: [
            ['AT', '{at|–}'],
            ['PARTITION', '{partition}', 'right'],
            ['OFFSET', '{offset}', 'right'],
            ['WORKFLOW', '{workflow|–}', 12],
            ['TYPE', '{type|–}'],
            ['REASON', '{reason}'],
          ],
          note: 'They changed nothing and are kept for audit; most follow from take-overs.',
        },
      },
    ],
  },
  async handle({ query: { limit, cursor }, principal, backend }) {
    // The tenants of workflows alone are known; events of no workflow belong to the whole fleet.
    const after = BY_REJECTION.placeOf(cursor) ?? null;
    const rows = await backend.reads.rejected(limit + 1, principal.tenant, after);
    const { page, next_cursor } = BY_REJECTION.pageIn(rows, limit);
    const rejected = page.map(({ atMs, ...row }) => ({ ...row, at: atMs === 0 ? null : isoTime(atMs) }));
    return ok({ rejected, next_cursor });
  },
});

const segmentSchema = z.object({
  partition: z.int(),
  from: z.int(),
  to: z.int(),
  object: z.string(),
  digest: digestSchema,
  bytes: z.number(),
  raw_bytes: z.number(),
  event_count: z.int(),
  first_at: timeSchema,
  last_at: timeSchema,
  tier: z.enum(['warm', 'cold', 'deleted']),
});

export const listSegments = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/segments',
  summary: "Where a workflow's archived history is",
  description: 'Its segments in order; none: all of it is in the log and in rows.',
  right: 'read',
  params: workflowParams,
  query: z.object({ ...paged }),
  answers: {
    200: z.object({ segments: z.array(segmentSchema), has_rows: z.boolean(), next_cursor: nextCursorSchema }),
  },
  async handle({ params, query: { limit, cursor }, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const after = BY_SEGMENT.placeOf(cursor);
    const found = await backend.reads.segments({ workflow, ...(after && { after }), limit: limit + 1 });
    const { page, next_cursor } = BY_SEGMENT.pageIn(found, limit);
    const without = await backend.reads.withoutRows([workflow]);
    const segments = page.map(
      ({ partition, from, to, object, digest, bytes, rawBytes, eventCount, firstAtMs, lastAtMs, tier }) => ({
        ...{ partition: partition as Partition, from, to, object, digest, bytes, tier },
        raw_bytes: rawBytes,
        event_count: eventCount,
        first_at: isoTime(firstAtMs),
        last_at: isoTime(lastAtMs),
      }),
    );
    return ok({ segments, has_rows: without.length === 0, next_cursor });
  },
});

export const getStorage = route({
  method: 'GET',
  path: '/v1/storage',
  summary: 'How much storage history takes',
  description: 'By tenant or by workflow, the largest first. Reads all rows of history: do not poll it.',
  right: 'administer',
  query: z.object({ by: z.enum(['tenant', 'workflow']).default('tenant'), limit: limitSchema }),
  answers: {
    200: z.object({
      log_bytes: z.number().nullable().meta({ description: 'Null where the caller sees one tenant.' }),
      storage: z.array(
        z.object({
          name: z.string(),
          workflow_count: z.int(),
          hot_bytes: z.number(),
          archived_event_count: z.int(),
          archived_raw_bytes: z.number(),
          archived_bytes: z.number(),
          fork_of: z.string().optional().meta({ description: 'The workflow whose history it shares, by workflow.' }),
        }),
      ),
    }),
  },
  async handle({ query, principal, backend }) {
    const found = await backend.reads.storage(query.by, query.limit, principal.tenant);
    const storage = found.map((use) => ({
      name: use.name,
      workflow_count: use.workflowCount,
      hot_bytes: use.hotBytes,
      archived_event_count: use.archivedEventCount,
      archived_raw_bytes: use.archivedRawBytes,
      archived_bytes: use.archivedBytes,
      ...(use.forkOf !== undefined && { fork_of: use.forkOf }),
    }));
    return ok({ log_bytes: principal.tenant === null ? await backend.ports.log.sizeBytes() : null, storage });
  },
});
