/** Owns the routes of whole queues: what waits and runs by definition, and pausing all work of one until it is resumed. */

import { AccessError, isoTime } from '@tidemark/core';
import type { PausedQueue, QueueChanged, QueueName } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor, tenantToChange } from '../backend.ts';
import { content } from '../redaction.ts';
import { type Call, ok, route } from '../route.ts';
import { byWhy, contentQuerySchema, nameSchema, tenantSchema, textSchema, timeSchema } from '../schemas/common.ts';

const ofWhom = z.string().nullable().meta({ description: 'Null: of all tenants.' });

const heldSchema = z
  .object({ tenant: ofWhom, by: z.string(), why: content(textSchema), since: timeSchema })
  .meta({ id: 'PausedQueue' });

const heldJson = ({ tenant, by, why, sinceMs }: PausedQueue) => ({ tenant, by, why, since: isoTime(sinceMs) });

const queueSchema = z
  .object({
    queue: z.string().meta({ description: 'The definition whose work it is.' }),
    tenant: ofWhom,
    ready_count: z.int().meta({ description: 'Could run, without a worker.' }),
    running_count: z.int().meta({ description: 'Held by a worker.' }),
    held: z.array(heldSchema).meta({ description: 'Who paused it: for its tenant, for all, or both. None: it runs.' }),
  })
  .meta({ id: 'Queue' });

export const listQueues = route({
  method: 'GET',
  path: '/v1/queues',
  summary: 'List queues: work by definition and tenant, and what of it is paused',
  description:
    'Those with workflows that are ready or running, and those that are paused. A workflow that waits for a timer, a signal or a person is in none.',
  right: 'read',
  query: z.object({ tenant: tenantSchema.optional(), content: contentQuerySchema }),
  answers: { 200: z.object({ queues: z.array(queueSchema) }).meta({ id: 'Queues' }) },
  edges: {
    commands: [
      {
        name: 'queues list',
        about: 'what is ready, running and paused',
        isDefault: true,
        options: { tenant: 'of this tenant only' },
        rows: {
          of: 'queues',
          none: [
            ['tenant', 'Nothing of {tenant} waits for a worker, and nothing of it is paused.'],
            'Nothing waits for a worker, and nothing is paused.',
          ],
          columns: [
            ['WORKFLOW', '{queue}', 12],
            ['TENANT', '{tenant|(all)}', 8],
            ['READY', '{ready_count}', 'right'],
            ['RUNNING', '{running_count}', 'right'],
            ['PAUSED', [['held', '{held.since} by {held.by} for {held.tenant|all}: {held.why}'], ''], 12],
          ],
        },
      },
    ],
  },
  async handle({ query, principal, backend }) {
    const queues = await backend.client.queues.list(tenantFor(principal, query.tenant, undefined) ?? null);
    return ok({
      queues: queues.map(({ definition, tenant, readyCount, runningCount, held }) => ({
        ...{ queue: definition, tenant, ready_count: readyCount, running_count: runningCount },
        held: held.map(heldJson),
      })),
    });
  },
});

const params = z.object({ queue: nameSchema.meta({ description: 'The name of a definition, percent-encoded.' }) });
const ask = z
  .strictObject({
    tenant: tenantSchema.optional().meta({
      description: "Of this tenant alone; by default the caller's own, or all of them for a caller of all tenants.",
    }),
    ...byWhy,
  })
  .meta({ id: 'QueueAsk' });

const changedSchema = z
  .object({
    queue: z.string(),
    tenant: ofWhom,
    changed: z.boolean().meta({ description: 'False: nothing changed.' }),
    held: z.boolean().meta({ description: 'Nothing of it is claimed; a tenant may be resumed while all are paused.' }),
  })
  .meta({ id: 'QueueChanged' });

const pauseAsk = ask
  .extend({
    future: z.literal(true).optional().meta({
      description: 'Also where nothing is known of such a definition yet; for callers of all tenants.',
    }),
  })
  .meta({ id: 'PauseQueue' });

type ChangeCall<B> = Call<z.output<typeof params>, undefined, B>;

const named = ({ params: { queue }, body, principal }: ChangeCall<z.output<typeof ask>>): QueueName => ({
  definition: queue,
  tenant: tenantToChange(principal, body.tenant, undefined) ?? null,
});

const changedJson = ({ definition, tenant, changed, held }: QueueChanged) =>
  ok({ queue: definition, tenant, changed, held });

const shared = {
  method: 'POST',
  right: 'operate',
  problems: ['tenant-invalid', 'definition-invalid', 'queue-system', 'queue-derived', 'queues-held-too-many'],
  params,
  answers: { 200: changedSchema },
} as const;

export const pauseQueue = route({
  ...shared,
  body: pauseAsk,
  path: '/v1/queues/{queue}/pause',
  summary: 'Pause all work of a definition',
  description:
    'From the answer on nothing of it is claimed until it is resumed. Steps under way finish; starts are accepted and wait; compensations are paused too, schedules are not. A definition that is neither loaded here nor that of a workflow that you may see is unknown.',
  problems: [...shared.problems, 'definition-unknown', 'right-missing'],
  edges: {
    commands: [
      {
        name: 'queues pause',
        about: 'claim nothing of a workflow until it is resumed; steps under way finish, starts wait',
        creates: true,
        takes: { queue: ['<workflow>', 'name of the workflow'] },
        options: { tenant: 'of this tenant only', future: 'also of one that nothing is known of yet' },
        says: [
          ['changed', '{queue} of {tenant|all tenants} is paused: nothing of it is claimed, steps under way finish.'],
          '{queue} of {tenant|all tenants} is paused already.',
        ],
      },
    ],
    forms: [
      {
        on: 'queue',
        title: 'Pause all work of it?',
        verb: 'Pause',
        follows:
          'Steps under way finish, and nothing of it is claimed until it is resumed. Starts are accepted, and wait.',
        when: '!is_paused',
      },
    ],
  },
  async handle(call) {
    const { body, principal, backend } = call;
    if (body.future === true && principal.tenant !== null) {
      throw new AccessError(
        'right-missing',
        'future: only callers of all tenants may pause a definition of which nothing is known yet.',
      );
    }
    const redaction = { definitions: backend.definitions, tenant: principal.tenant, isFuture: body.future };
    const by = { by: principal.subject, why: body.why };
    return changedJson(await backend.client.queues.pause(named(call), by, redaction));
  },
});

export const resumeQueue = route({
  ...shared,
  body: ask,
  path: '/v1/queues/{queue}/resume',
  summary: 'Resume a paused queue',
  description: 'One that is not paused stays as it is, unless its definition is unknown.',
  problems: [...shared.problems, 'definition-unknown'],
  edges: {
    commands: [
      {
        name: 'queues resume',
        about: 'resume a paused queue',
        takes: { queue: ['<workflow>', 'name of the workflow'] },
        options: { tenant: 'of this tenant only' },
        says: [
          ['held', '{queue} of {tenant|all tenants} is still paused, for all tenants.'],
          ['changed', '{queue} of {tenant|all tenants} is resumed.'],
          "{queue} of {tenant|all tenants} isn't paused.",
        ],
      },
    ],
    forms: [{ on: 'queue', title: 'Resume it?', verb: 'Resume', when: 'is_paused' }],
  },
  async handle(call) {
    const { body, principal, backend } = call;
    const by = { by: principal.subject, why: body.why };
    const scope = { definitions: backend.definitions, tenant: principal.tenant };
    return changedJson(await backend.client.queues.resume(named(call), by, scope));
  },
});
