/** Owns the routes that tell a workflow's history from its rows: checkpoints, effects, other events, and what remains to be done. */

import type { EffectKey, Sequence, TaskId } from '@tidemark/core';
import { z } from 'zod';
import { EVENTS_READ_MAX, PAGE_MAX_COUNT } from '../limits.ts';
import { ok, route } from '../route.ts';
import { limitSchema, sequenceSchema, taskIdSchema, workflowParams } from '../schemas/common.ts';
import { checkpointSchema, effectSchema, eventSchema, taskSchema } from '../schemas/workflow.ts';
import { toldControl } from '../shapes/control.ts';
import { pendingTask, taskJson } from '../shapes/frontier.ts';
import { checkpointJson, effectJson, eventJson } from '../shapes/history.ts';

const CHAPTER = 'History';

export const listCheckpoints = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/checkpoints',
  name: 'listCheckpoints',
  summary: "A workflow's checkpoints",
  description: 'By sequence, each with the effects of its task. `next_from` is where the next page begins.',
  chapter: CHAPTER,
  right: 'read',
  problems: ['workflow-unknown', 'store-rebuilding'],
  params: workflowParams,
  query: z.object({ from: sequenceSchema.default(1), limit: limitSchema }),
  answers: { 200: z.object({ checkpoints: z.array(checkpointSchema), next_from: z.int().nullable() }) },
  async handle({ params, query, principal, desk }) {
    const row = await desk.find(principal, params.workflow);
    const from = Math.max(query.from, 1) as Sequence;
    const rows = await desk.reads.checkpoints(row.workflow, { from, limit: query.limit });
    // One task's effects are few; of a page with more than a handful of checkpoints all are read at once.
    const effects = rows.length === 0 ? [] : await desk.reads.effects(row.workflow);
    const last = rows.at(-1);
    const checkpoints = rows.map((each) =>
      checkpointJson(
        each,
        effects.filter(({ task }) => task === each.task),
      ),
    );
    const next_from = last === undefined || last.sequence >= row.sequence ? null : last.sequence + 1;
    return ok({ checkpoints, next_from });
  },
});

export const listEffects = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/effects',
  name: 'listEffects',
  summary: "A workflow's effects",
  description: 'In the order of the newest event about each.',
  chapter: CHAPTER,
  right: 'read',
  problems: ['workflow-unknown', 'store-rebuilding'],
  params: workflowParams,
  query: z.object({
    after: z.string().max(2_000).optional().meta({ description: 'Goes on after the effect with this key.' }),
    task: taskIdSchema.optional().meta({ description: 'Of this task alone.' }),
    limit: limitSchema,
  }),
  answers: { 200: z.object({ effects: z.array(effectSchema), next_after: z.string().nullable() }) },
  async handle({ params, query, principal, desk }) {
    const workflow = await desk.check(principal, params.workflow);
    const all = await desk.reads.effects(workflow, query.task === undefined ? {} : { task: query.task as TaskId });
    const start = query.after === undefined ? 0 : all.findIndex(({ key }) => key === (query.after as EffectKey)) + 1;
    const page = all.slice(start, start + query.limit);
    const next_after = start + page.length < all.length ? (page.at(-1)?.key ?? null) : null;
    return ok({ effects: page.map(effectJson), next_after });
  },
});

export const listTasks = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/tasks',
  name: 'listTasks',
  summary: 'The frontier: pending tasks',
  description: 'By order of creation, and what each is blocked on.',
  chapter: CHAPTER,
  right: 'read',
  problems: ['workflow-unknown'],
  params: workflowParams,
  query: z.object({ limit: limitSchema }),
  answers: { 200: z.object({ tasks: z.array(taskSchema), pending_task_count: z.int() }) },
  async handle({ params, query, principal, desk }) {
    const { workflow, status, pendingCount } = await desk.find(principal, params.workflow);
    const stands = status !== 'open' && status !== 'parked';
    const tasks = (await desk.reads.tasks(workflow, query.limit)).map((row) => taskJson(pendingTask(row), stands));
    return ok({ tasks, pending_task_count: pendingCount });
  },
});

export const listEvents = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/notes',
  name: 'listNotes',
  summary: 'Signals, failures, decisions and hand-overs of leases',
  description:
    'The newest of the events that rows hold beside checkpoints and effects, by position. All events of the stream are followed with `/events`.',
  chapter: CHAPTER,
  right: 'read',
  problems: ['workflow-unknown'],
  params: workflowParams,
  query: z.object({
    limit: z.coerce.number().int().min(1).max(Math.min(EVENTS_READ_MAX, PAGE_MAX_COUNT)).default(100),
  }),
  answers: { 200: z.object({ events: z.array(eventSchema) }) },
  async handle({ params, query, principal, desk, seesContent }) {
    const workflow = await desk.check(principal, params.workflow);
    const rows = await desk.reads.events(workflow, query.limit);
    const told = (control: unknown) => toldControl(control as object, seesContent);
    return ok({ events: rows.map(eventJson).map((event) => ({ ...event, control: told(event.control) })) });
  },
});
