/** Owns how workflows look in answers. */

import { WAIT_KINDS } from '@tidemark/core/timeline';
import { z } from 'zod';
import { content, token, words } from '../redaction.ts';
import { digestSchema, jsonSchema, spendShape, timeSchema } from './common.ts';

export const STATUSES = ['open', 'parked', 'compensating', 'completed', 'failed', 'compensated'] as const;
export const statusSchema = z.enum(STATUSES);
const activitySchema = z
  .enum(['running', 'ready', 'waiting', 'parked', 'compensating', 'completed', 'failed', 'compensated'])
  .meta({
    description:
      'An open workflow is `running` (a worker holds it), `ready` (waits for a worker) or `waiting` (no task can run yet); others are as their status.',
  });

export const forkSchema = z
  .object({ workflow: z.string(), sequence_number: z.int(), effects: z.enum(['replay', 'live', 'keep', 'ask']) })
  .meta({
    id: 'Fork',
    description:
      'The checkpoint of another workflow from which this one started. `keep` and `ask`: of a reset in which what was done before answers, or is asked about.',
  });

export const waitSchema = z
  .object({
    kind: z.enum(WAIT_KINDS),
    text: z.string().meta({ description: 'In words; instants in it are ISO 8601.' }),
    since: timeSchema.nullable().meta({ description: 'Null: not known.' }),
    until: timeSchema.nullable().meta({ description: 'When it ends by itself, or is tried again.' }),
    ends_by: z.string().meta({ description: 'What would end it, in words.' }),
    is_there: z.boolean().nullable().meta({
      description: 'Whether anything that could end it is there; null: that comes from outside, or is not known here.',
    }),
  })
  .meta({ id: 'Wait', description: 'Why a workflow does not move.' });

export const workflowSchema = z
  .object({
    workflow: z.string(),
    tenant: z.string(),
    definition: z.string(),
    definition_version: z.int(),
    session: z.string().nullable(),
    user: z.string().nullable(),
    tags: z.array(z.string()).readonly(),
    fork: forkSchema.optional(),
    continues: z.string().optional().meta({ description: 'The workflow that this one continues, as a new run.' }),
    continued_as: z.string().optional().meta({
      description:
        'The workflow that continues this one, which is `completed` for the reason `continued`; or that supersedes it since it was reset, for the reason `superseded` where it was live. Of one that had ended before, only its own view says so.',
    }),
    waits_for: waitSchema
      .nullable()
      .optional()
      .meta({ description: 'Null: it has ended. Absent: this answer does not say it.' }),
    status: statusSchema,
    activity: activitySchema,
    reason: z.string().nullable(),
    sequence_number: z.int().meta({ description: 'Of its newest checkpoint.' }),
    position: z.int().meta({ description: 'Of its newest accepted event.' }),
    checkpoint_id: z.string().nullable(),
    pending_task_count: z.int(),
    ...spendShape,
    last_action: words(),
    opened_at: timeSchema,
    updated_at: timeSchema,
    partition: z.int(),
    generation: z.int(),
    epoch: z.int(),
    holder: z.string().nullable().meta({ description: 'The worker that holds it.' }),
  })
  .meta({ id: 'Workflow', description: 'A workflow in short.' });

const blockedSchema = z.union([
  z.object({ on: z.literal('tasks'), tasks: z.array(z.string()).readonly() }),
  z.object({ on: z.literal('all_earlier'), remaining_count: z.int() }),
  z.object({ on: z.literal('signal'), names: z.array(z.string()).readonly() }),
  z.object({ on: z.literal('timer'), timer: z.string(), due_at: timeSchema }),
  z.object({ on: z.literal('child'), child: z.string() }),
  z.object({
    on: z.literal('approval'),
    name: z.string(),
    assignee: z.string().nullable(),
    asked_at: timeSchema,
  }),
  z.object({
    on: z.literal('retry'),
    failure_count: z.int(),
    due_at: timeSchema,
    outage: z
      .object({ of: z.string(), why: z.string(), since: timeSchema })
      .optional()
      .describe('Where the last failure was a fault that passes by itself: whom the task waits for, and why.'),
  }),
  z.object({
    on: z.literal('confirmation'),
    idempotency_key: z.string(),
    token: token(),
    overdue_at: timeSchema.nullable(),
  }),
]);

export const taskSchema = z
  .object({
    task: z.string(),
    step: z.string(),
    state: z.enum(['ready', 'blocked', 'frozen']),
    why: z.string().nullable().meta({
      description: 'What it is blocked on, in words, with instants in ISO 8601; null: it may run.',
    }),
    blocked_on: z.array(blockedSchema).readonly(),
    failure_count: z.int(),
    cause: z
      .object({ kind: z.enum(['signal', 'timer', 'approval', 'child']), name: z.string(), event: z.string() })
      .nullable()
      .readonly(),
    reserved_checkpoint_id: z.string().nullable(),
    effects: z
      .array(z.object({ idempotency_key: z.string(), operation: z.string(), kind: z.string(), status: z.string() }))
      .readonly(),
  })
  .meta({ id: 'Task', description: 'A pending task of the frontier, and what it is blocked on.' });

export const questionSchema = z
  .object({
    question_id: z.string(),
    code: z.string(),
    task: z.string().nullable(),
    idempotency_key: z.string().nullable(),
    resolutions: z.array(z.string()).readonly().meta({
      description:
        'What it can be answered with; none where a record that cannot be read stops it, which is skipped or taken instead.',
    }),
    message: content(z.string()),
    evidence: content(jsonSchema),
  })
  .meta({ id: 'Question', description: 'What a parked workflow asks a person.' });

export const effectSchema = z
  .object({
    operation: z.string(),
    idempotency_key: z.string(),
    kind: z.enum(['pure', 'idempotent', 'irreversible']),
    status: z.enum(['intended', 'pending', 'done', 'failed']),
    task: z.string(),
    request_digest: digestSchema,
    response_digest: digestSchema.nullable(),
    at: timeSchema,
    request: content(jsonSchema),
    response: content(jsonSchema),
    error: content(jsonSchema),
  })
  .meta({ id: 'Effect', description: "An entry of a workflow's effect journal." });

export const memoryScopesSchema = z
  .object({
    system_context: z.object({
      keys: z.array(z.string()).readonly().nullable().meta({
        description: "`system` where the definition has one; null where this process doesn't have that version.",
      }),
    }),
    working_memory: z.object({
      phase: z
        .string()
        .nullable()
        .meta({ description: 'Null: the definition has no phases, or nothing here says which is the first.' }),
      keys: z.array(z.string()).readonly(),
      tokens: z.int().nullable().meta({ description: 'As they were counted then; null where they were not counted.' }),
      budget_tokens: z
        .int()
        .nullable()
        .meta({ description: 'Of the phase, as it was then; null where it is not known.' }),
    }),
    trace: z.object({
      length: z.int().meta({ description: 'Checkpoints in the trace; of a fork, with those that it shares.' }),
    }),
  })
  .meta({ id: 'MemoryScopes', description: 'Which memory scope held what: names and sizes, and no contents.' });

export const workingMemorySchema = content(z.record(z.string(), jsonSchema));

const effectLogSchema = z
  .array(
    z.object({
      operation: z.string(),
      idempotency_key: z.string(),
      status: z.string(),
      request_digest: digestSchema,
      response_digest: digestSchema.nullable(),
    }),
  )
  .readonly();

export const uncommittedCheckpointSchema = z
  .object({
    checkpoint_id: z.string(),
    sequence_number: z.int().nullable().meta({ description: 'Null: its place in the chain is open.' }),
    parent_checkpoint_id: z.string().nullable(),
    status: z.enum(['reserved', 'pending']),
    step_definition_ref: z.string(),
    step_version: z.int().nullable(),
    task: z.string(),
    input_state_hash: digestSchema.nullable(),
    effect_log: effectLogSchema,
  })
  .meta({ id: 'UncommittedCheckpoint', description: 'A checkpoint that does not count yet.' });

export const checkpointSchema = z
  .object({
    checkpoint_id: z.string().nullable(),
    sequence_number: z.int(),
    parent_checkpoint_id: z.string().nullable(),
    status: z.enum(['committed', 'superseded', 'compensated']).nullable().meta({
      description:
        'As of now: a later checkpoint corrects it, or the workflow was compensated and everything of it that could be was. Null: what was compensated can no longer be known, or not before the compensating workflow is restored.',
    }),
    supersedes: z.int().nullable().meta({ description: 'Sequence of the earlier checkpoint that this one corrects.' }),
    superseded_by: z
      .int()
      .nullable()
      .meta({ description: 'Sequence of the newest checkpoint that corrects this one.' }),
    step_definition_ref: z.string().nullable(),
    step_version: z.int(),
    task: z.string().nullable(),
    input_state_hash: digestSchema,
    output_state: content(jsonSchema),
    belief_change: content(z.union([z.object({ delta: jsonSchema }), z.object({ snapshot: jsonSchema })]).nullable()),
    effect_log: effectLogSchema,
    memory_scope_snapshot: memoryScopesSchema,
    log: content(z.array(z.object({ at: timeSchema, action: z.string(), detail: jsonSchema.optional() })).readonly()),
    last_action: words(),
    ...spendShape,
    epoch: z.int(),
    holder: z.string(),
    lamport: z.int(),
    position: z.int(),
    at: timeSchema,
  })
  .meta({ id: 'Checkpoint', description: 'A committed checkpoint, with the names of the checkpoint model.' });

export const eventSchema = z
  .object({
    position: z.int(),
    event_id: z.string(),
    type: z.string(),
    at: timeSchema,
    epoch: z.int(),
    holder: z.string().nullable(),
    lamport: z.int(),
    control: z.record(z.string(), z.unknown()).meta({
      description:
        'The clear part, which the fold reads; without words of steps and keys of limits for callers who may not see content.',
    }),
    payload: content(jsonSchema),
    payload_left_out: z
      .literal(true)
      .optional()
      .meta({ description: 'It is too large for a stream; the history has it.' }),
  })
  .meta({ id: 'Event', description: "An accepted event of a workflow's stream." });

export const endingSchema = {
  output: content(jsonSchema),
  error: z
    .object({ code: z.string(), message: content(z.string()) })
    .optional()
    .meta({ description: 'Once it has failed.' }),
} as const;

export const workflowViewSchema = workflowSchema
  .extend({
    pinned: z.boolean(),
    forgotten: z.boolean().meta({ description: 'Its content is permanently gone: its key was destroyed.' }),
    input_state_hash: digestSchema.nullable().meta({ description: 'Of its input; null while rows lack its opening.' }),
    input: content(jsonSchema),
    belief: content(jsonSchema),
    ...endingSchema,
    question: questionSchema.nullable(),
    parent: z
      .object({ workflow: z.string(), task: z.string() })
      .nullable()
      .meta({ description: 'The workflow whose task waits for this one, its child; null: it was started by itself.' }),
    frontier: z.array(taskSchema).readonly().meta({ description: 'Pending tasks, by order of creation, at most 200.' }),
    last_checkpoint: checkpointSchema.nullable(),
    memory_scope_snapshot: memoryScopesSchema,
    working_memory: workingMemorySchema,
    undo: z
      .object({
        workflow: z.string(),
        waiting_workflow: z.string().nullable(),
        undone_count: z.int().nullable().meta({ description: 'Null until the undo has completed, as `left_count`.' }),
        left_count: z.int().nullable(),
        why: content(z.string()),
      })
      .nullable()
      .meta({ description: 'The workflow that undoes it, and the undo that waits for a person.' }),
    flow: z
      .object({
        starts: z.array(z.string()).readonly().nullable(),
        steps: z.record(z.string(), z.array(z.string()).readonly()),
      })
      .nullable()
      .meta({ description: 'What each step may add; null where this process does not have the definition.' }),
  })
  .meta({ id: 'WorkflowView', description: 'The state of a workflow.' });
