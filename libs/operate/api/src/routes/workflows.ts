/** Owns the routes that start workflows, find them, and return the state of one. */

import { canonicalJson, decodePayload, SECRET_MASK } from '@tidemark/codec';
import {
  AccessError,
  continuationId,
  DEFAULT_TENANT,
  isClosed,
  isSystemDefinition,
  PRIORITIES,
  PRIORITY_DEFAULT,
  undoId,
  workflowId,
} from '@tidemark/core';
import type { Principal, WorkflowSummary } from '@tidemark/ports';
import {
  continuedAs,
  type Definition,
  dispatchOf,
  isEndForgotten,
  lastOf,
  supersedes,
  TAGS_MAX_COUNT,
  type UndoOutput,
} from '@tidemark/runtime';
import { z } from 'zod';
import { type Backend, tenantToChange } from '../backend.ts';
import { BY_OPENING, BY_WORKFLOW } from '../cursor.ts';
import { ok, route } from '../route.ts';
import {
  contentQuerySchema,
  flagSchema,
  inputSchema,
  jsonSchema,
  nameSchema,
  nextCursorSchema,
  paged,
  tagSchema,
  tenantSchema,
  workflowIdSchema,
  workflowParams,
} from '../schemas/common.ts';
import { endingSchema, statusSchema, workflowSchema, workflowViewSchema } from '../schemas/workflow.ts';
import { filterFields, searchOf, tagsSchema } from '../search-filter.ts';
import { beliefOf, inputIn, inputOf, isOpeningForgotten, openingOf } from '../shapes/belief.ts';
import { checkpointPoints, NO_POINT } from '../shapes/checkpoints.ts';
import { cardOf } from '../shapes/definition.ts';
import { endingOf } from '../shapes/ending.ts';
import { pendingTask, tasksJson } from '../shapes/frontier.ts';
import { questionOf } from '../shapes/question.ts';
import { listedJson } from '../waits.ts';

/** Newest events beside checkpoints and effects in which the reason of a compensation is searched for. */
const NOTES_READ_COUNT = 200;
/** Pending tasks that come with a workflow. */
const TASKS_SHOWN_COUNT = 200;
/** Longest wait of a request for a result, in milliseconds. */
const RESULT_WAIT_MAX_MS = 20_000;

const startBody = z
  .strictObject({
    definition: nameSchema.meta({ description: 'Name of a definition that this process has loaded.' }),
    input: inputSchema,
    id: workflowIdSchema.optional().meta({ description: 'The same id answers the same run; generated when absent.' }),
    tenant: tenantSchema.optional(),
    session: nameSchema.optional().meta({ description: 'The session that it is a part of.' }),
    user: nameSchema.optional().meta({ description: 'Whose it is.' }),
    tags: z
      .array(tagSchema)
      .max(TAGS_MAX_COUNT)
      .optional()
      .meta({ description: 'By which it is found; stored in clear.' }),
    priority: z.literal(PRIORITIES).optional().meta({
      description:
        '1 is served first, 5 last; by default its definition says. Callers of a tenant may not choose to be served before what that says.',
    }),
    timeout: z.union([z.int(), nameSchema]).optional().meta({
      description:
        "Cancelled after this time: '90s', '15m', '36h', '7d', or milliseconds; by default its definition says.",
    }),
    pinned: z.boolean().optional().meta({ description: 'Runs with exactly this version of its definition.' }),
  })
  .meta({ id: 'Start' });

const startedSchema = z
  .object({
    workflow: z.string(),
    created: z.boolean().meta({ description: 'False: the id was there before, and its run is the answer.' }),
    same_input: z
      .boolean()
      .meta({ description: 'False: that run was started with another input than the one given now.' }),
  })
  .meta({ id: 'Started' });

export const startWorkflow = route({
  method: 'POST',
  path: '/v1/workflows',
  summary: 'Start a workflow',
  description:
    'Answered once its opening is durable. With an `id` it may be sent again: the same id answers the same run (200), and starts nothing. Without one the server makes one, so a repetition is another run. Its trace links to the `traceparent` of the request.',
  right: 'operate',
  problems: [
    'right-missing',
    'definition-unknown',
    'duration-invalid',
    'tags-invalid',
    'workflow-differs',
    'session-busy',
    'workflow-claimed',
    'tenant-invalid',
    'pool-full',
    'tenant-full',
    'fleet-full',
  ],
  body: startBody,
  answers: { 200: startedSchema, 201: startedSchema },
  async handle({ body, principal, backend, traceparent }) {
    const definition = await backend.definitionNamed(body.definition);
    const tenant = tenantToChange(principal, body.tenant, DEFAULT_TENANT);
    const { id, session, user, pinned, tags, priority, timeout } = body;
    if (priority !== undefined) checkPriority(principal, definition, body.input, priority);
    const how = { id, tenant, session, user, pinned, tags, priority, timeout, trace: traceparent };
    const run = await backend.client.start(definition, body.input, how);
    backend.started(run.id, tenant);
    // Rows may not show yet what was started a moment ago.
    if (!run.created) await backend.check(principal, run.id);
    const before = run.created ? undefined : await inputOf(backend.reads, run.id);
    const given = before === undefined ? undefined : definition.parseInput(body.input, () => SECRET_MASK);
    const same_input = before === undefined || canonicalJson(before) === canonicalJson(given ?? null);
    const started = { workflow: run.id, created: run.created, same_input };
    return run.created ? { status: 201 as const, body: started } : ok(started);
  },
});

/** Priorities are strict over all tenants, so a caller of one tenant can't choose to be served before the others. Throws `AccessError` (`right-missing`). */
function checkPriority({ tenant }: Principal, definition: Definition, input: unknown, asked: number): void {
  if (tenant === null) return;
  const given = definition.parseInput(input, () => SECRET_MASK);
  const { priority: own = PRIORITY_DEFAULT } = dispatchOf(definition, given);
  if (asked >= own) return;
  const message = `priority: ${definition.name} says ${own}; only callers of all tenants may choose one before it. Leave it out, or give ${own} to 5.`;
  throw new AccessError('right-missing', message, { field: 'priority' });
}

const listQuery = z.object({
  ...filterFields,
  tag: z.union([tagSchema, tagsSchema]).optional().meta({ description: 'It has this tag; several: all of them.' }),
  roots: flagSchema.meta({ description: 'Without children and undos of others.' }),
  ...paged,
});

export const listWorkflows = route({
  method: 'GET',
  path: '/v1/workflows',
  summary: 'List and search workflows',
  description:
    "Newest first, page by page; without the system's own. All given filters must match. A workflow that was just started appears a moment later.",
  right: 'read',
  query: listQuery,
  answers: { 200: z.object({ workflows: z.array(workflowSchema), next_cursor: nextCursorSchema }) },
  async handle({ query, principal, backend, redaction }) {
    // Nobody may see the system's own, also by name.
    if (isSystemDefinition(query.definition ?? '')) return ok({ workflows: [], next_cursor: null });
    const { limit, cursor, tag } = query;
    const tags = tag === undefined ? undefined : [tag].flat();
    // One more row shows whether there is another page.
    const rows = await backend.reads.search({
      ...searchOf({ ...query, tags }, principal),
      after: BY_OPENING.placeOf(cursor),
      limit: limit + 1,
    });
    const { page, next_cursor } = BY_OPENING.pageIn(rows, limit);
    return ok({ workflows: await listedJson(backend, page, redaction.content), next_cursor });
  },
});

export const listChildren = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/children',
  summary: 'Workflows that its tasks have started',
  description: 'In order of their ids, which are `{workflow}~{task}`; without children of theirs.',
  right: 'read',
  params: workflowParams,
  query: z.object({ ...paged }),
  answers: { 200: z.object({ children: z.array(workflowSchema), next_cursor: nextCursorSchema }) },
  async handle({ params, query, principal, backend, redaction }) {
    const { workflow: parent, tenant } = await backend.find(principal, params.workflow);
    const { limit, cursor } = query;
    const after = BY_WORKFLOW.placeOf(cursor)?.workflow;
    const rows = await backend.reads.children({ parent, after, limit: limit + 1 });
    const { page, next_cursor } = BY_WORKFLOW.pageIn(rows, limit);
    // An id of that form may be older than child workflows are, and not a child's.
    const children = page.filter((row) => row.tenant === tenant);
    return ok({ children: await listedJson(backend, children, redaction.content), next_cursor });
  },
});

export const getWorkflow = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}',
  summary: 'State of a workflow',
  description: 'Its belief and frontier, what it waits for or asks, and how it ended.',
  right: 'read',
  params: workflowParams,
  query: z.object({ content: contentQuerySchema }),
  answers: { 200: workflowViewSchema },
  async handle({ params, principal, backend, redaction }) {
    const row = await backend.find(principal, params.workflow);
    return ok(await viewOf(backend, row, redaction.content));
  },
});

async function viewOf(backend: Backend, row: WorkflowSummary, seesContent: boolean) {
  const { reads } = backend;
  const { workflow, sequence, status } = row;
  const definition = backend.definitions.find(
    ({ name, version }) => name === row.definition && version === row.version,
  );
  const card = definition && cardOf(definition);
  const tasks = (await reads.tasks(workflow, TASKS_SHOWN_COUNT)).map(pendingTask);
  const isStopped = status !== 'open' && status !== 'parked';
  const head = await reads.checkpoints(workflow, { from: sequence, limit: 1 });
  const [last = NO_POINT] = await checkpointPoints(backend, row, head);
  // Each payload is in memory once.
  const opening = sequence === 0 ? head[0] : await openingOf(reads, workflow);
  const [listed] = await listedJson(backend, [row], seesContent);
  return {
    ...listed!,
    ...(await supersededJson(backend, row)),
    pinned: row.pinned,
    forgotten: isOpeningForgotten(opening),
    input_state_hash: opening?.sequence === 0 ? opening.inputDigest : null,
    // Does not read what may not be shown.
    ...(seesContent && { input: opening ? inputIn(opening) : null, belief: await beliefOf(reads, row) }),
    ...endingJson(row, seesContent),
    question: status === 'parked' ? await questionOf(reads, workflow) : null,
    parent: await parentOf(backend, row),
    frontier: tasksJson(tasks, isStopped),
    last_checkpoint: last.checkpoint,
    memory_scope_snapshot: last.memory_scope_snapshot,
    working_memory: last.working_memory,
    undo: await undoOf(backend, row, seesContent),
    // Tasks of any name have no flow that could be drawn.
    flow:
      card === undefined || Object.keys(card.flow).length === 0
        ? null
        : { starts: card.starts, steps: { ...card.flow } },
  };
}

/** The run that supersedes one which had ended before it was reset; its own row doesn't say that. */
async function supersededJson({ reads }: Backend, row: WorkflowSummary) {
  if (!isClosed(row) || continuedAs(row) !== undefined) return {};
  const next = await reads.workflow(continuationId(row.workflow));
  return next?.tenant === row.tenant && supersedes(next) === row.workflow ? { continued_as: next.workflow } : {};
}

/** By the form of its id, as children are found. */
async function parentOf({ reads }: Backend, { workflow, tenant }: WorkflowSummary) {
  const [, parent, task] = /^(.+)~(\d+\.\d+)(?:~\d+)?$/s.exec(workflow) ?? [];
  const row = parent === undefined ? undefined : await reads.workflow(workflowId(parent));
  return row === undefined || row.tenant !== tenant ? null : { workflow: row.workflow, task: task! };
}

function endingJson(row: WorkflowSummary, seesContent: boolean) {
  if (!seesContent) return row.status === 'failed' && !isEndForgotten(row) ? { error: { code: row.reason ?? '' } } : {};
  const ending = endingOf(row);
  if (ending?.kind === 'completed') return { output: ending.output };
  if (ending?.kind === 'failed') return { error: { code: ending.reason, message: ending.message } };
  return {};
}

async function undoOf({ reads }: Backend, row: WorkflowSummary, seesContent: boolean) {
  if (row.status !== 'compensating' && row.status !== 'compensated') return null;
  const undo = await reads.workflow(undoId(row.workflow));
  const ending = undo && endingOf(undo);
  const counts = ending?.kind === 'completed' ? (ending.output as unknown as UndoOutput) : undefined;
  let at: WorkflowSummary | undefined = row;
  while (at?.status === 'compensating') at = await reads.workflow(undoId(at.workflow));
  return {
    workflow: undoId(row.workflow),
    waiting_workflow: at !== row && at?.status === 'parked' ? at.workflow : null,
    undone_count: counts?.undone ?? null,
    left_count: counts?.leftCount ?? null,
    ...(seesContent && { why: await compensationReason(reads, row) }),
  };
}

/** Empty where it isn't known any more. */
async function compensationReason(reads: Backend['reads'], { workflow }: WorkflowSummary): Promise<string> {
  const began = (await reads.events(workflow, NOTES_READ_COUNT)).findLast(({ type }) => type === 'CompensationStarted');
  return began === undefined ? '' : (decodePayload('CompensationStarted', began.payload).error?.message ?? '');
}

const resultSchema = z
  .object({ workflow: z.string(), status: statusSchema, reason: z.string().nullable(), ...endingSchema })
  .meta({ id: 'Result' });

export const getResult = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/result',
  summary: 'Wait for the end of a workflow',
  description:
    'Answered as soon as it has ended, waits for a person, `wait_ms` have passed, or the server is about to end, whichever is first: `status` says which. To wait longer, repeat the request. For a workflow that continued as a new run the answer is the state of its newest run, which `workflow` names.',
  right: 'read',
  params: workflowParams,
  query: z.object({
    wait_ms: z.coerce.number().int().min(0).max(RESULT_WAIT_MAX_MS).default(0).meta({ description: 'Milliseconds.' }),
  }),
  answers: { 200: resultSchema },
  async handle({ params, query, principal, backend, signal, redaction }) {
    const { workflow } = await backend.find(principal, params.workflow);
    const enough = AbortSignal.any([signal, backend.leaving, AbortSignal.timeout(query.wait_ms)]);
    // Only waits for the end; its row has the outcome.
    if (query.wait_ms > 0)
      await backend.client
        .run(workflow)
        .result({ signal: enough })
        .catch(() => {});
    const last = await lastOf(backend.reads, await backend.find(principal, workflow));
    const next = continuedAs(last);
    // It is about to begin.
    if (next !== undefined) return ok({ workflow: next, status: 'open' as const, reason: null });
    const { status, reason } = last;
    return ok({ workflow: last.workflow, status, reason, ...endingJson(last, redaction.content) });
  },
});

export const listDefinitions = route({
  method: 'GET',
  path: '/v1/definitions',
  summary: 'Definitions that can be started here',
  right: 'read',
  answers: {
    200: z.object({
      definitions: z.array(
        z.object({
          name: z.string(),
          version: z.int(),
          starts: z.array(z.string()).readonly().nullable(),
          flow: z.record(z.string(), z.array(z.string()).readonly()),
          warnings: z.array(z.string()).readonly(),
          effects: z.array(z.string()).readonly(),
          signals: z
            .record(z.string(), jsonSchema)
            .readonly()
            .nullable()
            .meta({ description: 'The JSON Schema of the value of each signal that may be sent, by its name.' }),
        }),
      ),
    }),
  },
  handle: async ({ backend }) =>
    ok({ definitions: backend.definitions.map(cardOf).map((card) => ({ ...card, flow: { ...card.flow } })) }),
});
