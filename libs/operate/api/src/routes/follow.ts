/** Owns the routes that stream events as they happen. */

import { takerOf } from '@tidemark/access/json-body';
import { workflowId } from '@tidemark/core';
import { z } from 'zod';
import { tenantFor } from '../backend.ts';
import { PieceReader, UI_MESSAGE_FORM, UiMessageReader } from '../events/answer-readers.ts';
import { EventFollower } from '../events/feed.ts';
import { invalidRequest, limitWords } from '../problem.ts';
import { positionSchema, tenantSchema, workflowParams } from '../schemas/common.ts';
import { eventSchema, workflowSchema } from '../schemas/workflow.ts';
import { streamRoute } from '../stream-route.ts';

const placeOfCall = {
  task: z.string(),
  call: z.string().meta({ description: "The call's key in the history." }),
};

const resetSchema = z
  .object({
    ...placeOfCall,
    attempt: z.int().meta({ description: 'A later attempt has a greater number.' }),
    index: z.literal(0),
  })
  .meta({
    id: 'CallReset',
    description: 'An attempt at a call begins, or ended without an answer: what was sent of the call before is void.',
  });

const deltaSchema = z
  .object({
    ...placeOfCall,
    attempt: z.int(),
    index: z.int().min(1).meta({ description: '1, 2, 3 … within the attempt.' }),
    kind: z.enum(['text', 'reasoning', 'tool-call']),
    text: z.string().optional(),
    tool_call: z.unknown().optional(),
  })
  .meta({ id: 'Delta', description: "A piece of a model's answer as it comes." });

const answerSchema = z
  .object({
    ...placeOfCall,
    text: z.string(),
    tool_calls: z.array(z.object({ id: z.string(), name: z.string(), input: z.unknown() })),
    finish_reason: z.string(),
  })
  .meta({
    id: 'StreamedAnswer',
    description: 'The whole answer as it is recorded, in place of what was sent of the call.',
  });

const progressSchema = z.object({
  task: z.string().nullable(),
  step: z.string(),
  done: z.number(),
  total: z.number(),
  text: z.string().optional(),
});

const waitSchema = z.object({
  task: z.string().nullable().meta({ description: 'Null: it is the workflow that waits, before a step continues.' }),
  text: z.string(),
});

const NOTHING = { position: 0, place: { epoch: 0, number: 0 } };

/** Outcomes up to a position, and pieces up to a number under a lease (see events/pieces.ts). */
const placeSchema = z
  .string()
  .regex(/^\d{1,15}\.\d{1,15}\.\d{1,15}$/, 'give an id that this stream has sent, such as 12.3.40')
  .transform((id) => {
    const [position = 0, epoch = 0, number = 0] = id.split('.').map(Number);
    return { position, place: { epoch, number } };
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
  problems: ['streams-too-many', 'object-archived', 'store-rebuilding'],
  params: workflowParams,
  query: z.object({
    from: positionSchema.default(1).meta({ description: 'The first position that is wanted.', type: 'integer' }),
  }),
  events: {
    event: { schema: eventSchema, about: 'an accepted event (Event)' },
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
      await streams.feeds.follow(row, new EventFollower(sink, { redaction, whose: takerOf(principal.tenant), next }));
    };
  },
});

export const followAnswers = streamRoute({
  method: 'GET',
  path: '/v1/workflows/{workflow}/stream',
  summary: 'Follow what models say',
  description:
    "The answers of the run's streamed model calls (`stream: true`): of calls that are recorded the answer, whole and once, and of open ones each piece as it comes. A client that reconnects with `Last-Event-ID` (or `from`), to this server or another, continues after that id. Pieces are kept for minutes: where those before are gone, the call is silent until its answer is recorded. With `format=ui-message` it is the UI message stream of the AI SDK, one message for the run, from its beginning for each connection; there `reset-step` takes back what a lost attempt has said. A reader that is too slow is told from where to resume (`reader-slow`). Ends with `end` when the workflow has ended or continues as a new run.",
  right: 'content',
  problems: ['streams-too-many', 'object-archived', 'store-rebuilding', 'reader-slow'],
  params: workflowParams,
  query: z.object({
    from: placeSchema
      .default(NOTHING)
      .meta({ description: 'An id that this stream has sent: what came after it is wanted.', type: 'string' }),
    format: z.enum(['events', 'ui-message']).default('events'),
  }),
  events: {
    reset: { schema: resetSchema, about: 'an attempt at a call begins (CallReset)' },
    delta: { schema: deltaSchema, about: "a piece of a model's answer (Delta)" },
    answer: { schema: answerSchema, about: 'a recorded answer (StreamedAnswer)' },
    progress: { schema: progressSchema, about: 'how far a step is, without an id' },
    wait: { schema: waitSchema, about: 'what the run waits for before it continues, without an id' },
    end: { schema: z.object({ position: z.int() }), about: 'the workflow has ended at this position' },
  },
  mayEnd: false,
  formOf: ({ format }) => (format === 'ui-message' ? UI_MESSAGE_FORM : undefined),
  async follow({ params, query, principal, backend, streams, lastId }) {
    const row = await backend.find(principal, params.workflow);
    const last = lastId === undefined ? undefined : placeSchema.safeParse(lastId);
    if (last?.success === false) throw invalidRequest('Last-Event-ID', last.error);
    const workflow = workflowId(row.workflow);
    return async (sink) => {
      const pieces = await streams.pieces.of(workflow, sink.closed);
      const whose = takerOf(principal.tenant);
      const has = last?.data ?? query.from;
      await streams.feeds.follow(
        row,
        query.format === 'ui-message'
          ? new UiMessageReader({ sink, whose, pieces, has: NOTHING }, workflow)
          : new PieceReader({ sink, whose, pieces, has }),
      );
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
  problems: ['streams-too-many'],
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
