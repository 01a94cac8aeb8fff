/** Owns the routes that stream events as they happen. */

import { takerOf } from '@tidemark/access/json-body';
import { workflowId } from '@tidemark/core';
import { z } from 'zod';
import { tenantFor } from '../backend.ts';
import { invalidRequest, limitWords } from '../problem.ts';
import { flagSchema, positionSchema, tenantSchema, workflowParams } from '../schemas/common.ts';
import { eventSchema, workflowSchema } from '../schemas/workflow.ts';
import { streamRoute } from '../stream-route.ts';

const deltaSchema = z
  .object({
    task: z.string().nullable().meta({ description: 'Null: it is the workflow that waits, before a step continues.' }),
    kind: z.enum(['text', 'reasoning', 'tool-call', 'progress', 'wait']),
    text: z.string().optional(),
    call: z.unknown().optional(),
    step: z.string().optional().meta({ description: 'Of `progress`, as what follows.' }),
    done: z.number().optional(),
    total: z.number().optional(),
  })
  .meta({
    id: 'Delta',
    description:
      "A piece of a model's answer as it comes, or how far a step is, or what it waits for before it continues; stored nowhere.",
  });

const lastIdSchema = z
  .string()
  .regex(/^\d+$/, 'give the id of the last event that was received, a whole number')
  .transform(Number)
  .pipe(z.int());

export const followWorkflow = streamRoute({
  method: 'GET',
  path: '/v1/workflows/{workflow}/events',
  summary: 'Follow a workflow',
  description:
    "All accepted events from position `from` on, each once and in order; an event's id is its position. A client that reconnects with `Last-Event-ID` (or `from`) continues after that event, whatever has happened meanwhile to the connection or to the server. An event is sent once every other answer shows what it changed. A client that reads too slowly is disconnected, and may reconnect. Ends with `end` when the workflow has ended or continues as a new run (its last event, `WorkflowCompleted` or `WorkflowReset`, then has `continued` or `as` in its control, the workflow to follow next); 204 then says that nothing more will come.",
  right: 'read',
  problems: ['workflow-unknown', 'streams-too-many', 'object-archived', 'store-rebuilding'],
  params: workflowParams,
  query: z.object({
    from: positionSchema.default(1).meta({ description: 'The first position that is wanted.', type: 'integer' }),
    deltas: flagSchema.meta({
      description: 'Also what models answer as it comes, and how far steps are; needs the right to content.',
    }),
  }),
  events: {
    event: { schema: eventSchema, about: 'an accepted event (Event)' },
    delta: { schema: deltaSchema, about: "a piece of a model's answer, or how far a step is (Delta), without an id" },
    end: { schema: z.object({ position: z.int() }), about: 'the workflow has ended at this position' },
  },
  mayEnd: true,
  async follow({ params, query, principal, redaction, backend, streams, lastId }) {
    const row = await backend.find(principal, params.workflow);
    const last = lastId === undefined ? undefined : lastIdSchema.safeParse(lastId, { error: limitWords });
    if (last?.success === false) throw invalidRequest('Last-Event-ID', last.error);
    const next = Math.max(last === undefined ? query.from : last.data + 1, 1);
    if (row.closedInGeneration !== null && next > row.position) return null;
    return async (sink) => {
      if (query.deltas && redaction.content) await streams.watches.add(workflowId(row.workflow), sink);
      await streams.feeds.follow(row, { sink, redaction, whose: takerOf(principal.tenant), next });
    };
  },
});

export const followFleet = streamRoute({
  method: 'GET',
  path: '/v1/events',
  summary: 'Follow all workflows',
  description:
    'What lists show, as it changes: the newest state of each workflow that moved, also of one that has begun and ended within it, gathered for a quarter of a second. Nothing from before, and not each step in between: read the list once the stream is open, and again when the connection was lost or `many` came.',
  right: 'read',
  problems: ['streams-too-many', 'tenant-unknown'],
  query: z.object({ tenant: tenantSchema.optional() }),
  events: {
    workflow: { schema: workflowSchema, about: 'a workflow that changed (Workflow)' },
    many: {
      schema: z.object({ partitions: z.int() }),
      about: 'so much changed at once that the list is to be read again',
    },
  },
  mayEnd: false,
  async follow({ query, principal, redaction, streams }) {
    const tenant = tenantFor(principal, query.tenant, undefined) ?? null;
    await streams.changes.ready();
    return (sink) => streams.changes.follow({ sink, tenant, redaction });
  },
});
