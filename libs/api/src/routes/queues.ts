/** Owns the routes of whole queues: what waits and runs by definition, and holding all work of one until it is resumed. */

import { isoTime, type TenantId } from '@tidemark/core';
import type { HeldQueue } from '@tidemark/runtime';
import { z } from 'zod';
import { tenantFor } from '../desk.ts';
import { type Call, content, ok, route } from '../route.ts';
import { byWhy, nameSchema, tenantSchema, textSchema, timeSchema } from '../schemas/common.ts';

const CHAPTER = 'Queues';

const ofWhom = z.string().nullable().meta({ description: 'Null: of all tenants.' });

const heldSchema = z
  .object({ tenant: ofWhom, by: z.string(), why: content(textSchema), since: timeSchema })
  .meta({ id: 'HeldQueue' });

const heldJson = ({ tenant, by, why, sinceMs }: HeldQueue) => ({ tenant, by, why, since: isoTime(sinceMs) });

const queueSchema = z
  .object({
    queue: z.string().meta({ description: 'The definition whose work it is.' }),
    tenant: ofWhom,
    ready_count: z.int().meta({ description: 'Could go on, and nobody has it.' }),
    running_count: z.int().meta({ description: "In a worker's hands." }),
    held: z
      .array(heldSchema)
      .meta({ description: 'By what it is held: for its tenant, for all, or both. None: it goes on.' }),
  })
  .meta({ id: 'Queue' });

export const listQueues = route({
  method: 'GET',
  path: '/v1/queues',
  name: 'listQueues',
  summary: 'List queues: work by definition and tenant, and what is held of it',
  description:
    'Those with something to do or in hand, and those that are held. What waits for a timer, a signal or a person is in none.',
  chapter: CHAPTER,
  right: 'read',
  problems: ['tenant-unknown'],
  query: z.object({ tenant: tenantSchema.optional() }),
  answers: { 200: z.object({ queues: z.array(queueSchema) }).meta({ id: 'Queues' }) },
  async handle({ query, principal, desk }) {
    const queues = await desk.client.queues.list(tenantFor(principal, query.tenant, undefined) ?? null);
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
    changed: z.boolean().meta({ description: 'False: it was so before.' }),
    held: z.boolean().meta({ description: 'Nothing of it is claimed; a tenant may be resumed while all are held.' }),
  })
  .meta({ id: 'QueueChanged' });

type Asked = Call<z.output<typeof params>, undefined, z.output<typeof ask>>;

async function asked({ params: { queue }, body, principal, desk }: Asked, act: 'pause' | 'resume') {
  const tenant: TenantId | null = tenantFor(principal, body.tenant, undefined) ?? null;
  const by = { by: principal.subject, why: body.why };
  const { changed, held } = await desk.client.queues[act]({ definition: queue, tenant }, by);
  return ok({ queue, tenant, changed, held });
}

const shared = {
  method: 'POST',
  chapter: CHAPTER,
  right: 'operate',
  problems: ['tenant-unknown', 'definition-invalid', 'queue-system', 'queue-derived', 'queues-held-too-many'],
  params,
  body: ask,
  answers: { 200: changedSchema },
} as const;

export const pauseQueue = route({
  ...shared,
  path: '/v1/queues/{queue}/pause',
  name: 'pauseQueue',
  summary: 'Hold all work of a definition',
  description:
    'From the answer on nothing of it is claimed until it is resumed. Steps under way finish; starts are accepted and wait; undos are held too, schedules are not.',
  handle: (call) => asked(call, 'pause'),
});

export const resumeQueue = route({
  ...shared,
  path: '/v1/queues/{queue}/resume',
  name: 'resumeQueue',
  summary: 'Let a held queue go on',
  handle: (call) => asked(call, 'resume'),
});
