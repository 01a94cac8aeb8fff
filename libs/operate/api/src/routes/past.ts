/** Owns the routes into a workflow's past: its state then, what a model call saw, how two of them differ, and a new workflow that starts from there. */

import { foldFor, keepValue } from '@tidemark/codec';
import { AccessError, diffBundles, InvalidError, isoTime, type Json, type Sequence, workflowId } from '@tidemark/core';
import { mayDo } from '@tidemark/ports';
import {
  type CallRange,
  compareWorkflows as comparison,
  MODEL_OPERATION,
  type RebuiltCall,
  type RebuiltCalls,
  rebuildCalls,
} from '@tidemark/runtime';
import { z } from 'zod';
import type { Backend } from '../backend.ts';
import { BY_EFFECT } from '../cursor.ts';
import { content, words } from '../redaction.ts';
import { ok, route } from '../route.ts';
import {
  digestSchema,
  givenJson,
  jsonSchema,
  nextCursorSchema,
  paged,
  sequenceSchema,
  spendShape,
  timeSchema,
  workflowIdSchema,
  workflowParams,
} from '../schemas/common.ts';
import {
  checkpointSchema,
  forkSchema,
  memoryScopesSchema,
  statusSchema,
  taskSchema,
  workingMemorySchema,
} from '../schemas/workflow.ts';
import { comparisonJson } from '../shapes/comparison.ts';
import { opaqueSizes } from '../shapes/opaque.ts';
import { pastJson } from '../shapes/past.ts';

/** Model calls that are rebuilt for one answer: each may have a bundle of megabytes. */
const CALLS_MAX_COUNT = 50;

/** What the call saw, rebuilt, and what was kept and trimmed. */
const callJson = (call: RebuiltCall) => ({
  ...call,
  prompt: call.prompt.map(opaqueSizes),
  messages: call.messages.map(opaqueSizes),
  answer: opaqueSizes(call.answer as unknown as Json),
  identical: call.sent === call.rebuilt,
  bundle: call.bundle && { ...call.bundle.bundle, hash: call.bundle.hash },
  manifest: call.bundle?.manifest ?? null,
});

const pastParams = workflowParams.extend({ sequence: sequenceSchema });

const fragmentSchema = z.object({
  place: z.string(),
  type: z.string(),
  text: content(z.string()),
  call: content(z.string()),
  tool: content(z.string()),
});

export const getWorkflowAt = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/at/{sequence}',
  summary: 'State of a workflow right after a checkpoint',
  description:
    'Belief, frontier and what models received, folded from its history, whichever tier has it. All of it stays the same for ever, except the status of its checkpoint, which is the present one. 0 is its opening.',
  right: 'read',
  problems: ['sequence-unknown', 'history-forgotten', 'object-archived'],
  params: pastParams,
  answers: {
    200: z
      .object({
        workflow: z.string(),
        tenant: z.string(),
        definition: z.string(),
        definition_version: z.int(),
        fork: forkSchema.optional(),
        sequence_number: z.int(),
        newest_sequence_number: z.int(),
        at: timeSchema,
        opened_at: timeSchema,
        ...spendShape,
        last_action: words(),
        input: content(jsonSchema),
        belief: content(jsonSchema),
        frontier: z.array(taskSchema),
        last_checkpoint: checkpointSchema.nullable(),
        memory_scope_snapshot: memoryScopesSchema,
        working_memory: workingMemorySchema,
        fragments: z.array(fragmentSchema),
      })
      .meta({ id: 'PastWorkflow' }),
  },
  async handle({ params, principal, backend, redaction }) {
    const row = await backend.find(principal, params.workflow);
    return ok(await pastJson(backend, row, params.sequence as Sequence, redaction.content));
  },
});

const callNumber = z.coerce.number().int().min(1).max(10_000);

const callSchema = z
  .object({
    key: z.string(),
    task: z.string(),
    sequence: z
      .int()
      .nullable()
      .meta({ description: 'The checkpoint that it led to; null while its step has not committed.' }),
    status: z.string(),
    provider: z.string(),
    model: z.string(),
    sent: digestSchema.nullable(),
    rebuilt: digestSchema.nullable(),
    identical: z.boolean().meta({ description: 'What is rebuilt is, byte for byte, what was sent.' }),
    bundle: content(jsonSchema),
    manifest: jsonSchema.meta({
      description: 'What was kept, what was trimmed and why, with tokens by lane; null: a call without a bundle.',
    }),
    messages: content(jsonSchema),
    prompt: content(jsonSchema),
    answer: content(jsonSchema),
  })
  .meta({ id: 'ModelCall', description: 'A past model call, rebuilt from the history.' });

export const listModelCalls = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/at/{sequence}/calls',
  summary: 'What the model calls of a checkpoint saw',
  description:
    'Of the step that the checkpoint committed, in the order of their keys, rebuilt byte for byte with their manifests, some at a time. The sequence after the newest means steps under way.',
  right: 'content',
  problems: ['checkpoint-unknown', 'no-model-call', 'tokenizer-unknown'],
  params: pastParams,
  query: z.object({
    from: callNumber.default(1).meta({ description: 'The first of them, counted from 1.' }),
    limit: z.coerce.number().int().min(1).max(CALLS_MAX_COUNT).default(CALLS_MAX_COUNT),
  }),
  answers: {
    200: z.object({
      calls: z.array(callSchema),
      next_from: z.int().nullable().meta({ description: 'Of the next page; null: this is the last.' }),
    }),
  },
  async handle({ params, query, principal, backend, signal }) {
    const workflow = await backend.check(principal, params.workflow);
    const { calls, nextFrom } = await callsAt(backend, workflow, params.sequence, { ...query, signal });
    const reported = calls.map((call) => callJson(call) as unknown as z.input<typeof callSchema>);
    return ok({ calls: reported, next_from: nextFrom });
  },
});

async function callsAt(
  { reads, ports }: Backend,
  workflow: string,
  at: number,
  range: CallRange,
): Promise<RebuiltCalls> {
  // Its tables take long to load, and few requests need them.
  const { tokenizerById } = await import('@tidemark/tokenizer');
  const sources = { store: reads, digest: ports.digest, tokenizerById };
  return rebuildCalls(sources, workflowId(workflow), at as Sequence, range);
}

export const listCallPlaces = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/calls',
  summary: "List a workflow's model calls",
  description:
    'In the order of their tasks. `at` is the sequence under which the calls are returned with what they saw; the one after the newest means steps under way.',
  right: 'read',
  problems: ['store-rebuilding'],
  params: workflowParams,
  query: z.object({ ...paged }),
  answers: {
    200: z.object({
      calls: z.array(
        z.object({
          at: z.int(),
          idempotency_key: z.string(),
          task: z.string(),
          status: z.string(),
          made_at: timeSchema,
        }),
      ),
      next_cursor: nextCursorSchema,
    }),
  },
  async handle({ params, query: { limit, cursor }, principal, backend }) {
    const { workflow, sequence } = await backend.find(principal, params.workflow);
    const after = BY_EFFECT.placeOf(cursor);
    const rows = await backend.reads.effectListings(workflow, { operation: MODEL_OPERATION, after, limit: limit + 1 });
    const { page, next_cursor } = BY_EFFECT.pageIn(rows, limit);
    const commits = await backend.reads.commits(workflow, [...new Set(page.map(({ task }) => task))]);
    const sequences = new Map(commits.map((commit) => [commit.task, commit.sequence]));
    const calls = page.map(({ key, task, status, atMs }) => ({
      at: sequences.get(task) ?? sequence + 1,
      ...{ idempotency_key: key, task, status, made_at: isoTime(atMs) },
    }));
    return ok({ calls, next_cursor });
  },
});

const totalsSchema = z.object({ checkpoints: z.int(), ...spendShape });
const comparedSchema = totalsSchema
  .extend({
    workflow: z.string(),
    definition: z.string(),
    definition_version: z.int(),
    fork: forkSchema.optional(),
    status: statusSchema,
    reason: z.string().nullable(),
    output: content(jsonSchema),
    own: totalsSchema,
    shared: totalsSchema,
    called_effects: z.int(),
    replayed_effects: z.int(),
    took_ms: z.number(),
  })
  .meta({ id: 'ComparedWorkflow' });
const pointSchema = z
  .object({
    workflow: z.string(),
    sequence_number: z.int(),
    step: z.string().nullable(),
    belief: content(jsonSchema),
    output: content(jsonSchema),
  })
  .nullable();

export const compareWorkflows = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/comparison/{other}',
  summary: 'Compare two workflows',
  description:
    'Mostly a fork with its base: how each ended, what it took, and the first checkpoint at which they differ, counted on through what they share.',
  right: 'content',
  problems: ['history-forgotten'],
  params: workflowParams.extend({ other: workflowIdSchema }),
  reports: ({ params }) => [{ target: String(params.workflow) }, { target: String(params.other) }],
  answers: {
    200: z
      .object({
        workflows: z.array(comparedSchema),
        same_outcome: z.boolean(),
        first_difference: z.object({ sequence_number: z.int(), checkpoints: z.array(pointSchema) }).nullable(),
      })
      .meta({ id: 'Comparison' }),
  },
  async handle({ params, principal, backend }) {
    const [one, other] = [
      await backend.check(principal, params.workflow),
      await backend.check(principal, params.other),
    ];
    const compared = comparisonJson(await foldFor(() => comparison(backend.reads, one, other)));
    keepValue(compared as unknown as Json);
    return ok(compared);
  },
});

export const compareCalls = route({
  method: 'GET',
  path: '/v1/workflows/{workflow}/at/{sequence}/calls/{call}/comparison',
  summary: 'Compare what two model calls saw',
  description:
    'Which pieces came, went or changed, by lane; the second call is that of `to`, in the same workflow unless `other` names one.',
  right: 'content',
  problems: ['checkpoint-unknown', 'no-model-call', 'call-unknown', 'no-bundle'],
  params: pastParams.extend({ call: callNumber.meta({ description: 'Of the checkpoint, from 1.', type: 'integer' }) }),
  query: z.object({
    to: sequenceSchema,
    to_call: callNumber.default(1),
    other: workflowIdSchema.optional(),
  }),
  reports: ({ params, query }) =>
    [params.workflow, query.other ?? params.workflow].map((id) => ({ target: String(id) })),
  answers: {
    200: z.object({
      difference: jsonSchema,
      identical: z.boolean().meta({ description: 'What is rebuilt of both is, byte for byte, what was sent.' }),
    }),
  },
  async handle({ params, query, principal, backend, signal }) {
    const one = await backend.check(principal, params.workflow);
    const other = query.other === undefined ? one : await backend.check(principal, query.other);
    const before = await bundleAt(backend, one, params.sequence, { from: params.call, limit: 1, signal });
    const after = await bundleAt(backend, other, query.to, { from: query.to_call, limit: 1, signal });
    const identical = before.identical && after.identical;
    return ok({ difference: JSON.parse(JSON.stringify(diffBundles(before.bundle, after.bundle))), identical });
  },
});

async function bundleAt(backend: Backend, workflow: string, at: number, range: CallRange) {
  const [found] = (await callsAt(backend, workflow, at, range)).calls;
  if (found === undefined) {
    throw new InvalidError(
      'call-unknown',
      `call: checkpoint ${at} of ${workflow} made fewer than ${range.from} model calls, counted from 1.`,
    );
  }
  if (found.bundle === undefined)
    throw new InvalidError('no-bundle', `Model call ${found.key} was made without a bundle.`);
  return { bundle: found.bundle, identical: found.sent === found.rebuilt };
}

export const forkWorkflow = route({
  method: 'POST',
  path: '/v1/workflows/{workflow}/forks',
  summary: 'Fork a workflow at a checkpoint',
  description:
    'It shares the history up to there. With `replay` what was recorded answers its effects and nothing is called; with `live` they are called, under keys of its own; where people have answered something in what is shared (also in a fork before it or in an ended child), or with another belief, that also needs the right to decide. The same `id` is the same fork.',
  right: 'operate',
  problems: [
    'right-missing',
    'sequence-unknown',
    'fork-nothing-left',
    'workflow-differs',
    'workflow-claimed',
    'version-unknown',
    'fork-too-deep',
  ],
  params: workflowParams,
  body: z
    .strictObject({
      at: z.int().min(0).meta({ description: 'The checkpoint after which it starts; 0: the opening.' }),
      effects: z.enum(['replay', 'live']),
      id: workflowIdSchema.optional(),
      belief: givenJson.optional().meta({ description: 'In place of the belief at the checkpoint.' }),
      version: z.int().min(0).optional().meta({ description: 'It runs with exactly this version of its definition.' }),
    })
    .meta({ id: 'ForkRequest' }),
  answers: {
    201: z
      .object({
        workflow: z.string(),
        created: z.boolean(),
        base: forkSchema,
        definition: z.string(),
        definition_version: z.int(),
        tasks: z.array(z.object({ task: z.string(), base: z.string(), step: z.string() })).readonly(),
        begun: z
          .array(z.object({ task: z.string(), operation: z.string(), status: z.string() }))
          .readonly()
          .meta({
            description: 'Effects that had been begun in those tasks: with `live` they are called again.',
          }),
      })
      .meta({ id: 'Forked' }),
  },
  async handle({ params, body, principal, backend }) {
    const workflow = await backend.check(principal, params.workflow);
    const admit = mayDo(principal, 'decide') ? undefined : refuseUndecided;
    const { definitions } = backend;
    const forked = await backend.client.fork(workflow, { ...body, by: principal.subject, definitions, admit });
    const { base, version, ...rest } = forked;
    const reported = { workflow: base.workflow, sequence_number: base.sequence, effects: base.effects };
    return { status: 201 as const, body: { ...rest, base: reported, definition_version: version } };
  },
});

function refuseUndecided(why: string): never {
  throw new AccessError(
    'right-missing',
    `effects: 'live' calls again what people were asked about, which needs the right 'decide': ${why}. Fork it with effects 'replay', or let somebody with that right do it.`,
  );
}
