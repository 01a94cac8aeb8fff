/** Owns the routes of schedules: set one, list them, trigger a run now. Pausing and ending one works as for any workflow. */

import { DEFAULT_TENANT, InvalidError, isoTime, type Json } from '@tidemark/core';
import { CATCH_UP_MAX_COUNT, CRON_MAX_CHARS, OVERLAPS, type ScheduleState } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor, tenantToChange } from '../backend.ts';
import { BY_OPENING } from '../cursor.ts';
import { content } from '../redaction.ts';
import { ok, route } from '../route.ts';
import {
  contentQuerySchema,
  inputSchema,
  jsonSchema,
  nameSchema,
  nextCursorSchema,
  paged,
  tenantSchema,
  timeSchema,
  workflowIdSchema,
} from '../schemas/common.ts';
import { statusSchema } from '../schemas/workflow.ts';

/** Future slots in a schedule's answer. */
const SCHEDULE_SLOTS_SHOWN_COUNT = 5;

const scheduleJson = (schedule: ScheduleState) => ({
  schedule: schedule.id,
  tenant: schedule.tenant,
  definition: schedule.definition,
  status: schedule.status,
  reason: schedule.reason,
  cron: schedule.spec.cron,
  time_zone: schedule.spec.timeZone,
  overlap: schedule.spec.overlap,
  catch_up: schedule.spec.catchUp,
  input: schedule.spec.input,
  last_run: schedule.run?.id ?? null,
  waiting_slot: schedule.heldMs === null ? null : isoTime(schedule.heldMs),
  started_count: schedule.startedCount,
  skipped_count: schedule.skippedCount,
  taken_count: schedule.takenCount,
  missed_count: schedule.missedCount,
  next: schedule.next.map(isoTime),
});

const params = z.object({ schedule: workflowIdSchema });

const scheduleBody = z
  .strictObject({
    definition: nameSchema.meta({ description: 'Name of a definition that this process has loaded.' }),
    input: inputSchema,
    cron: z.string().max(CRON_MAX_CHARS).meta({
      description: "Minute, hour, day, month, weekday, such as '0 9 * * 1-5'; with six fields the first are seconds.",
    }),
    time_zone: nameSchema.optional().meta({ description: 'IANA name, such as `Europe/Berlin`; by default `UTC`.' }),
    overlap: z.enum(OVERLAPS).optional().meta({ description: 'While an earlier run is live; by default `skip`.' }),
    catch_up: z
      .int()
      .min(0)
      .max(CATCH_UP_MAX_COUNT)
      .optional()
      .meta({ description: 'Missed slots that are made up for; by default 1.' }),
    slot_field: nameSchema.optional().meta({ description: "Field of the input that is given the slot's time." }),
    tenant: tenantSchema.optional(),
    user: nameSchema.optional().meta({ description: 'Whose runs they are.' }),
  })
  .meta({ id: 'SetSchedule' });

const scheduleSchema = z
  .object({
    schedule: z.string(),
    tenant: z.string(),
    definition: z.string(),
    status: statusSchema,
    reason: z.string().nullable().meta({ description: 'Such as `paused`.' }),
    cron: z.string(),
    time_zone: z.string(),
    overlap: z.enum(OVERLAPS),
    catch_up: z.int(),
    input: content(jsonSchema),
    last_run: z.string().nullable().meta({ description: 'Id of the newest run that it started.' }),
    waiting_slot: timeSchema.nullable().meta({ description: 'The slot that waits for the end of that run.' }),
    started_count: z.int(),
    skipped_count: z.int(),
    taken_count: z.int().meta({ description: "Slots that didn't begin, for their ids are other workflows'." }),
    missed_count: z.int(),
    next: z.array(timeSchema).meta({ description: 'The slots to come.' }),
  })
  .meta({ id: 'Schedule' });

export const setSchedule = route({
  method: 'PUT',
  path: '/v1/schedules/{schedule}',
  summary: 'Make a schedule, or change the one of this id',
  description:
    'Each slot begins one run, named by the schedule and the time. A schedule is a workflow: pause, resume and cancel it as one.',
  right: 'operate',
  problems: [
    'schedule-invalid',
    'schedule-secrets',
    'definition-unknown',
    'workflow-differs',
    'workflow-closed',
    'tenant-invalid',
  ],
  params,
  body: scheduleBody,
  answers: { 200: z.object({ schedule: z.string(), created: z.boolean() }).meta({ id: 'ScheduleSet' }) },
  edges: {
    commands: [
      {
        name: 'schedule set',
        about: 'make a schedule, or change the one of this id',
        creates: true,
        loads: true,
        takes: {
          schedule: ['<id>', 'id of the schedule: its runs are named ID@TIME'],
          definition: ['<workflow>', 'name of the workflow'],
        },
        options: {
          cron: "minute hour day month weekday, such as '0 9 * * 1-5'; six fields begin with seconds",
          time_zone: 'IANA name, such as Europe/Berlin (default: UTC)',
          input: 'input of each run: JSON, @file, or - for standard input (default: {})',
          overlap: 'while an earlier run is live (default: skip)',
          catch_up: 'missed slots that are made up for (default: 1)',
          slot_field: 'field of the input that is given the time of the slot',
          tenant: 'whose runs they are (default: default)',
          user: 'the user they are for',
        },
        says: [
          ['created', '{schedule} is made; tidemark schedule shows when it is due.'],
          '{schedule} is changed; tidemark schedule shows when it is due.',
        ],
      },
    ],
  },
  async handle({ params: { schedule }, body, principal, backend }) {
    const { definition, input, time_zone, catch_up, slot_field, tenant, ...options } = body;
    const of = await backend.definitionNamed(definition);
    const spec = {
      ...options,
      id: schedule,
      timeZone: time_zone,
      catchUp: catch_up,
      slotField: slot_field,
      tenant: tenantToChange(principal, tenant, DEFAULT_TENANT),
    };
    const { created } = await backend.client.schedules.set(of, input as Json, spec).catch((error: unknown) => {
      throw namedAsHere(error);
    });
    return ok({ schedule, created });
  },
});

/** Uses the field's name in the body. */
function namedAsHere(error: unknown): unknown {
  if (!(error instanceof InvalidError) || error.code !== 'schedule-invalid') return error;
  const field = String(error.details.field).replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return new InvalidError(error.code, error.message.replace(/^\w+/, field), { ...error.details, field });
}

export const listSchedules = route({
  method: 'GET',
  path: '/v1/schedules',
  summary: 'List schedules, newest first',
  description: 'Those that have ended are among them.',
  right: 'read',
  query: z.object({
    tenant: tenantSchema.optional(),
    content: contentQuerySchema,
    ...paged,
  }),
  answers: {
    200: z.object({ schedules: z.array(scheduleSchema), next_cursor: nextCursorSchema }).meta({ id: 'Schedules' }),
  },
  edges: {
    commands: [
      {
        name: 'schedule list',
        about: 'schedules, newest first, with their next slots',
        isDefault: true,
        options: { tenant: 'of this tenant only' },
        rows: {
          of: 'schedules',
          none: [['tenant', '{tenant} has no schedules.'], 'No schedules. tidemark schedule set makes one.'],
          columns: [
            ['SCHEDULE', '{schedule}'],
            ['STATUS', '{status}'],
            ['NEXT', '{next.0}'],
            ['WORKFLOW', '{definition}', 8],
            ['PATTERN', '{cron} {time_zone}', 9],
            ['STARTED', '{started_count}', 'right'],
            ['SKIPPED', '{skipped_count}', 'right'],
            ['MISSED', '{missed_count}', 'right'],
          ],
          each: [
            'taken_count',
            "{schedule}: slots that didn't begin, for their ids are other workflows': {taken_count}",
          ],
        },
      },
    ],
  },
  async handle({ query: { tenant, limit, cursor }, principal, backend }) {
    const of = tenantFor(principal, tenant, undefined);
    const after = BY_OPENING.placeOf(cursor);
    const count = SCHEDULE_SLOTS_SHOWN_COUNT;
    const { schedules, next } = await backend.client.schedules.page({ tenant: of, limit, after, count });
    return ok({ schedules: schedules.map(scheduleJson), next_cursor: next && BY_OPENING.cursorOf(next) });
  },
});

export const fireSchedule = route({
  method: 'POST',
  path: '/v1/schedules/{schedule}/fire',
  summary: 'Have a schedule begin a run now',
  description:
    'By its overlap policy. The moment `at` names the run: while that run is kept, it begins no other, however often it is sent.',
  right: 'operate',
  problems: ['schedule-unknown', 'workflow-closed'],
  params,
  body: z
    .strictObject({
      at: z.iso
        .datetime({ offset: true })
        .optional()
        .meta({ description: 'The slot that it stands for; by default now.' }),
    })
    .meta({ id: 'Fire' }),
  answers: {
    200: z
      .object({
        schedule: z.string(),
        run: z.string().meta({ description: 'Id of the run, unless the overlap policy skips it.' }),
      })
      .meta({ id: 'Fired' }),
  },
  edges: {
    commands: [
      {
        name: 'schedule fire',
        about: 'have a schedule begin a run now, by its overlap policy',
        takes: { schedule: ['<id>', 'id of the schedule'] },
        makes: 'at',
        says: '{schedule} begins {run}, unless its overlap policy says otherwise.',
      },
    ],
  },
  async handle({ params: { schedule }, body, principal, backend }) {
    try {
      const atMs = body.at === undefined ? undefined : Date.parse(body.at);
      return ok({
        schedule,
        ...(await backend.client.schedules.fire(await backend.check(principal, schedule), { atMs })),
      });
    } catch (error) {
      const isUnknown = error instanceof InvalidError && error.code === 'workflow-unknown';
      throw isUnknown ? new InvalidError('schedule-unknown', `No schedule has the id '${schedule}'.`) : error;
    }
  },
});
