/** Owns the routes that return a workflow's history from its rows: checkpoints, effects, other events, and what remains to be done. */

import type { EffectKey, Position, Sequence, TaskId, WorkflowId } from '@tidemark/core';
import type { EffectListing } from '@tidemark/ports';
import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { BY_POSITION, BY_TASK } from '../cursor.ts';
import { PAGE_MAX_COUNT } from '../limits.ts';
import { invalidField } from '../problem.ts';
import { ok, route } from '../route.ts';
import {
  cursorSchema,
  limitSchema,
  nextCursorSchema,
  paged,
  positionSchema,
  sequenceSchema,
  taskIdSchema,
  workflowParams,
} from '../schemas/common.ts';
import {
  checkpointSchema,
  effectSchema,
  eventSchema,
  taskSchema,
  uncommittedCheckpointSchema,
} from '../schemas/workflow.ts';
import { checkpointPoints, uncommittedCheckpoints } from '../shapes/checkpoints.ts';
import { reportedControl } from '../shapes/control.ts';
import { pendingTask, tasksJson } from '../shapes/frontier.ts';
import { effectJson, eventJson } from '../shapes/history.ts';

const effectKeySchema = z.string().max(2_000);

export const listCheckpoints = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/checkpoints',
  summary: "A workflow's checkpoints",
  description:
    'By sequence, each with the effects of its task. `next_from` is where the next page begins. The last page has those that do not count yet: `reserved` (before an effect, until its task commits; so while a confirmation is outstanding; of the 1,000 oldest pending tasks) and `pending` (staged by a worker of the answering process, and not in the log yet).',
  right: 'read',
  problems: ['store-rebuilding'],
  params: workflowParams,
  query: z.object({ from: sequenceSchema.default(1), limit: limitSchema }),
  answers: {
    200: z.object({
      checkpoints: z.array(checkpointSchema),
      next_from: z.int().nullable(),
      uncommitted: z.array(uncommittedCheckpointSchema),
    }),
  },
  async handle({ params, query, principal, backend }) {
    const row = await backend.find(principal, params.workflow);
    const from = Math.max(query.from, 1) as Sequence;
    const rows = await backend.reads.checkpoints(row.workflow, { from, limit: query.limit });
    const last = rows.at(-1);
    const points = await checkpointPoints(backend, row, rows);
    const checkpoints = points.flatMap(({ checkpoint }) => checkpoint ?? []);
    const next_from = last === undefined || last.sequence >= row.sequence ? null : last.sequence + 1;
    const uncommitted = next_from === null ? await uncommittedCheckpoints(backend, row.workflow) : [];
    return ok({ checkpoints, next_from, uncommitted });
  },
});

export const listEffects = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/effects',
  summary: "A workflow's effects",
  description: 'In the order of their tasks, and then of their keys, whatever becomes of them between two pages.',
  right: 'read',
  problems: ['store-rebuilding'],
  params: workflowParams,
  query: z.object({
    after: effectKeySchema.optional().meta({ description: 'Those after the effect with this key.' }),
    task: taskIdSchema.optional().meta({ description: 'Of this task alone.' }),
    key: effectKeySchema.optional().meta({ description: 'This one alone.' }),
    limit: limitSchema,
  }),
  answers: { 200: z.object({ effects: z.array(effectSchema), next_after: z.string().nullable() }) },
  async handle({ params, query: { after, task, key, limit }, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const rows = await backend.reads.effectPage(workflow, {
      tasks: task === undefined ? undefined : [task as TaskId],
      key: key as EffectKey | undefined,
      after: after === undefined ? undefined : await placeOfEffect(backend, workflow, after as EffectKey),
      limit: limit + 1,
    });
    const page = rows.slice(0, limit);
    return ok({ effects: page.map(effectJson), next_after: rows.length > limit ? page.at(-1)!.key : null });
  },
});

async function placeOfEffect({ reads }: Backend, workflow: WorkflowId, key: EffectKey): Promise<EffectListing> {
  const [found] = await reads.effectListings(workflow, { key, limit: 1 });
  if (found !== undefined) return found;
  throw invalidField('query.after', `${workflow} has no effect with this key; give the next_after of a page`);
}

export const listTasks = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/tasks',
  summary: 'The frontier: pending tasks',
  description: 'By order of creation, and what each is blocked on.',
  right: 'read',
  params: workflowParams,
  query: z.object({ ...paged }),
  answers: {
    200: z.object({ tasks: z.array(taskSchema), pending_task_count: z.int(), next_cursor: nextCursorSchema }),
  },
  async handle({ params, query: { limit, cursor }, principal, backend }) {
    const { workflow, status, pendingCount } = await backend.find(principal, params.workflow);
    const isStopped = status !== 'open' && status !== 'parked';
    const rows = await backend.reads.tasks(workflow, limit + 1, BY_TASK.placeOf(cursor)?.task ?? null);
    const { page, next_cursor } = BY_TASK.pageIn(rows, limit);
    return ok({
      tasks: tasksJson(page.map(pendingTask), isStopped),
      pending_task_count: pendingCount,
      next_cursor,
    });
  },
});

export const listNotes = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/notes',
  summary: 'Signals, failures, decisions and hand-overs of leases',
  description:
    'The newest of the events that rows hold beside checkpoints and effects, by position; the next page has those before them. All events of the stream are followed with `/events`.',
  right: 'read',
  params: workflowParams,
  query: z.object({
    limit: z.coerce.number().int().min(1).max(PAGE_MAX_COUNT).default(100),
    cursor: cursorSchema.optional(),
    position: positionSchema.optional().meta({ description: 'The one at this position alone.' }),
  }),
  answers: { 200: z.object({ events: z.array(eventSchema), next_cursor: nextCursorSchema }) },
  async handle({ params, query: { limit, cursor, position }, principal, backend, redaction }) {
    const workflow = await backend.check(principal, params.workflow);
    const rows = await backend.reads.events(workflow, limit + 1, {
      position: position as Position | undefined,
      before: BY_POSITION.placeOf(cursor)?.position,
    });
    const page = rows.slice(-limit);
    const reported = (control: unknown) => reportedControl(control as object, redaction);
    const events = page.map(eventJson).map((event) => ({ ...event, control: reported(event.control) }));
    return ok({ events, next_cursor: rows.length > limit ? BY_POSITION.cursorOf(page[0]!) : null });
  },
});
