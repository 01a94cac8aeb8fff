/** Owns the answer with what is needed to continue a session. */

import { sessionSummarySchema } from '@tidemark/memory';
import { z } from 'zod';
import { content } from '../redaction.ts';
import { jsonSchema, spendShape, timeSchema } from './common.ts';
import { waitSchema } from './workflow.ts';

const texts = z.array(z.string()).readonly();

const taskSchema = z
  .object({
    task: z.string(),
    step: z.string(),
    state: z.enum(['ready', 'blocked']),
    why: z.string().nullable().meta({ description: 'What keeps it from running, in words; null: it may run.' }),
    input: jsonSchema,
    failure_count: z.int(),
    effects: z
      .array(z.object({ operation: z.string(), idempotency_key: z.string(), status: z.string() }))
      .readonly()
      .meta({ description: 'Those that were begun.' }),
  })
  .meta({ id: 'SessionTask' });

const questionSchema = z
  .object({
    question_id: z.string(),
    code: z.string(),
    message: z.string(),
    evidence: jsonSchema,
    task: z.string().nullable(),
    idempotency_key: z.string().nullable(),
    resolutions: texts.meta({ description: 'What a person may decide.' }),
  })
  .meta({ id: 'SessionQuestion' });

const workflowSchema = z
  .object({
    workflow: z.string(),
    definition: z.string(),
    definition_version: z.int(),
    status: z.string(),
    reason: z.string().nullable(),
    sequence_number: z.int(),
    checkpoint_id: z.string().nullable(),
    opened_at: timeSchema,
    updated_at: timeSchema,
    ...spendShape,
    holder: z.string().nullable().meta({ description: 'The worker that holds it; null: none.' }),
    recall: z.enum(['injected', 'control']).nullable().meta({
      description:
        'Whether what memory recalls is in its bundles; control: nothing is, for comparison; null: not compared.',
    }),
    goal: texts,
    constraints: texts,
    summary: z.string().nullable().meta({ description: 'Of what was said so far; null: all of it is still there.' }),
    checkpoint_note: z.string().nullable(),
    last_action: z.string(),
    input: jsonSchema,
    belief: jsonSchema,
    frontier: z
      .array(taskSchema)
      .readonly()
      .meta({ description: 'Pending tasks in the order in which they came up, at most 200.' }),
    pending_task_count: z.int(),
    next_task: z.string().nullable().meta({ description: 'What a resumption takes; null: none can run now.' }),
    question: questionSchema.nullable().meta({ description: 'Set while it waits for a person.' }),
    waits_for: waitSchema.nullable().meta({ description: 'Why it does not move; null: it has ended.' }),
    undo: z.string().nullable().meta({ description: 'The workflow that undoes it.' }),
    output: jsonSchema,
    error: z.string().nullable(),
  })
  .meta({ id: 'SessionWorkflow' });

const handOverSchema = z
  .object({ from: z.string(), to: z.string(), message: z.string(), artifacts: texts, at: timeSchema })
  .meta({ id: 'SessionHandOver' });

export const sessionSchema = z
  .object({
    session: z.string(),
    tenant: z.string(),
    user: z.string().nullable(),
    is_live: z.boolean().meta({ description: '`workflow` is running; false: all have ended, or there was none yet.' }),
    workflow: content(workflowSchema.nullable()),
    earlier: z
      .array(z.object({ workflow: z.string(), definition: z.string(), status: z.string(), opened_at: timeSchema }))
      .readonly(),
    handovers: content(z.array(handOverSchema).readonly()),
    summaries: content(z.array(sessionSummarySchema.meta({ id: 'SessionSummary' })).readonly()),
  })
  .meta({ id: 'Session' });
