/**
 * Owns the wire schemas of version 1: the envelope, and the clear control of every event type; payloads are in payloads.ts. The controls
 * are checked against core's types at compile time. Must not read or write records (see record.ts).
 */

import {
  type CheckpointId,
  type Controls,
  DROPPED_TASKS_MAX_COUNT,
  type EffectKey,
  type Epoch,
  type EventId,
  type EventType,
  type Generation,
  type HolderId,
  type Lamport,
  type Offset,
  type Ordinal,
  type Partition,
  PRIORITIES,
  type Sequence,
  TASKS_PER_CHECKPOINT_MAX,
  type TaskDeclaration,
  type TaskId,
  type TenantId,
  taskOrder,
  type WorkflowId,
} from '@tidemark/core';
import { z } from 'zod';

/** Version of the envelope whose payload is sealed, or in a blob. */
export const SEALED_VERSION = 2;

/** Longest id or name in an event, in characters. */
export const NAME_MAX_CHARS = 512;

const text = <T extends string>(): z.ZodType<T> => z.string().min(1).max(NAME_MAX_CHARS) as unknown as z.ZodType<T>;
const whole = <T extends number>(min: number): z.ZodType<T> => z.int().min(min) as unknown as z.ZodType<T>;
export const DIGEST = /^[0-9a-f]{64}$/;
/** One text for each task: no leading zeros, and an index below the limit that keeps ranks distinct. */
export const TASK = /^(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,6})$/;

const digest = z.string().regex(DIGEST);
const task = z
  .string()
  .regex(TASK)
  .refine((id) => taskOrder(id as TaskId)[1] < TASKS_PER_CHECKPOINT_MAX) as unknown as z.ZodType<TaskId>;
const timeMs = z.number().min(0);
const kind = z.enum(['pure', 'idempotent', 'irreversible']);

const condition = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('signal'), name: text() }),
  z.object({ kind: z.literal('timer'), timer: text(), anchorMs: timeMs, delayMs: timeMs }),
  z.object({
    kind: z.literal('child'),
    child: text<WorkflowId>(),
    isVital: z.literal(true).optional(),
    isAbandoned: z.literal(true).optional(),
  }),
  z.object({ kind: z.literal('approval'), name: text(), askedAtMs: timeMs, assignee: text().optional() }),
]);

/** When the work began that the event ends. */
const startedAtMs = timeMs.optional();
const fingerprint = z
  .string()
  .regex(/^[0-9a-f]{12}$/)
  .optional();
/** Most steps that are declared as planning. */
const PLANS_MAX_COUNT = 256;
const traceHints = z.object({
  parent: text().optional(),
  agent: z.literal(true).optional(),
  plans: z.array(text()).max(PLANS_MAX_COUNT).optional(),
});

const amount = z.number().min(0);
const spendFields = {
  tokens: amount,
  costMicros: amount,
  estimatedTokens: amount.optional(),
  unpricedTokens: amount.optional(),
  unknownCalls: amount.optional(),
  unknownTokens: amount.optional(),
  unknownCostMicros: amount.optional(),
};
const spend = z.object(spendFields);
const hasContext = z.literal(true).optional();

const retry = z.object({ timer: text(), anchorMs: timeMs, delayMs: timeMs });

const dispatch = z.object({
  priority: z.literal(PRIORITIES).optional(),
  limits: z
    .array(
      z.object({
        key: text(),
        scope: z.enum(['tenant', 'fleet']).optional(),
        concurrency: whole<number>(1).optional(),
        rate: z.object({ count: whole<number>(1), perMs: timeMs }).optional(),
      }),
    )
    .optional(),
});

const declaration: z.ZodType<TaskDeclaration> = z.object({
  step: text(),
  after: z.union([z.literal('all'), z.array(task)]),
  when: z.array(condition),
});

/** The control of each event type. A field that a later release adds may be absent, so that older records stay readable. */
export const controls: { readonly [T in EventType]: z.ZodType<Controls[T]> } = {
  WorkflowOpened: z.object({
    definition: text(),
    version: whole<number>(0),
    rules: whole<number>(1),
    partition: whole<Partition>(0),
    placement: z.enum(['exclusive', 'shared']),
    inputDigest: digest,
    tasks: z.array(declaration),
    pinned: z.boolean(),
    shadow: z.boolean(),
    compensates: z.object({ workflow: text<WorkflowId>(), depth: whole<number>(1) }).nullable(),
    session: text().optional(),
    user: text().optional(),
    tags: z.array(text()).optional(),
    fork: z
      .object({
        workflow: text<WorkflowId>(),
        sequence: whole<Sequence>(0),
        effects: z.enum(['replay', 'live', 'keep', 'ask']),
      })
      .optional(),
    trace: traceHints.optional(),
    parent: z
      .object({ workflow: text<WorkflowId>(), task, onClose: z.enum(['cancel', 'terminate', 'abandon']) })
      .optional(),
    continues: z
      .object({
        workflow: text<WorkflowId>(),
        signals: z
          .array(z.object({ name: text(), event: text<EventId>(), sizeBytes: whole<number>(0).optional() }))
          .optional(),
        taken: z.array(text<EventId>()).optional(),
        paused: z.object({ by: text(), atMs: timeMs }).optional(),
        spent: spend,
        raised: spend.optional(),
      })
      .optional(),
    timeoutMs: whole<number>(1).optional(),
    dispatch: dispatch.optional(),
    hasContext,
  }),
  PartitionFenced: z.object({ partition: whole<Partition>(0) }),
  SignalReceived: z.object({
    name: text(),
    sizeBytes: whole<number>(0).optional(),
    replaces: text<EventId>().optional(),
    by: text().optional(),
  }),
  SignalDiscarded: z.object({ signal: text<EventId>(), by: text() }),
  WorkflowReset: z.object({ as: text<WorkflowId>(), at: whole<Sequence>(0), by: text() }),
  TimerFired: z.object({ timer: text() }),
  LeaseRevoked: z.object({
    epoch: whole<Epoch>(1),
    holder: text<HolderId>(),
    reason: z.enum(['holder-dead', 'lease-not-listed', 'asked']),
    isGone: z.boolean().optional(),
    beside: whole<number>(0).optional(),
  }),
  EffectConfirmed: z.object({ token: text(), outcome: z.enum(['done', 'failed']), responseDigest: digest }),
  ApprovalDecided: z.object({
    question: text<EventId>(),
    resolution: z.enum(['retry', 'done', 'not-done', 'compensate', 'fail']),
    by: text(),
    responseDigest: digest.nullable(),
  }),
  RetryDecided: z.object({ question: text<EventId>(), build: text<string>() }),
  CompensationFinished: z.object({ undo: text<WorkflowId>(), outcome: z.enum(['compensated', 'failed']) }),
  VersionPinned: z.object({ pinned: z.boolean(), by: text() }),
  MemoryWritten: z.object({ count: whole<number>(1) }),
  BudgetRaised: spend.extend({ by: text() }),
  CancelRequested: z.object({ code: text(), by: text() }),
  WorkflowTerminated: z.object({ code: text(), by: text() }),
  PauseRequested: z.object({ by: text() }),
  ResumeRequested: z.object({ by: text() }),
  RecordJudged: z.object({ offset: whole<Offset>(0), judgement: z.enum(['skip', 'take']), by: text() }),
  ApprovalGiven: z.object({ task, name: text(), approved: z.boolean(), by: text() }),
  ChildClosed: z.object({
    task,
    child: text<WorkflowId>(),
    outcome: z.enum(['completed', 'failed', 'compensated']),
  }),
  LeaseClaimed: z.object({}),
  RulesRaised: z.object({ rules: whole<number>(1) }),
  LeaseReleased: z.object({ reason: z.enum(['idle', 'drain', 'fault']) }),
  CheckpointReserved: z.object({ checkpoint: text<CheckpointId>(), task }),
  EffectIntended: z.object({
    task,
    key: text<EffectKey>(),
    operation: text(),
    kind,
    requestDigest: digest,
    timeoutMs: timeMs,
    model: z.object({ bundle: digest.nullable(), reserved: spend }).optional(),
    question: digest.optional(),
    hasContext,
  }),
  EffectPending: z.object({ task, key: text<EffectKey>(), token: text(), probe: retry.nullable(), deadline: retry }),
  EffectResolved: z.object({
    task,
    key: text<EffectKey>(),
    operation: text(),
    kind,
    outcome: z.enum(['done', 'failed']),
    requestDigest: digest,
    responseDigest: digest,
    spent: spend.optional(),
    startedAtMs,
    hasContext,
  }),
  CheckpointCommitted: z.object({
    checkpoint: text<CheckpointId>(),
    sequence: whole<Sequence>(1),
    parent: text<CheckpointId>().nullable(),
    task,
    step: text(),
    stepVersion: whole<number>(0),
    inputDigest: digest,
    tasks: z.array(declaration),
    drops: z.array(task).optional(),
    belief: z.enum(['none', 'delta', 'snapshot']),
    ...spendFields,
    lastAction: z.string(),
    supersedes: whole<Sequence>(1).nullable(),
    startedAtMs,
    hasContext,
  }),
  StepFailed: z.object({
    task,
    attempt: whole<number>(1),
    code: text(),
    retry: retry.nullable(),
    outage: z
      .object({ of: text(), why: text(), sinceMs: timeMs, count: whole<number>(1), inLineMs: timeMs.optional() })
      .optional(),
    startedAtMs,
    fingerprint,
  }),
  WorkflowCompleted: z.object({
    outputDigest: digest,
    continued: text<WorkflowId>().optional(),
    dropped: z.object({ count: whole<number>(1), tasks: z.array(task).max(DROPPED_TASKS_MAX_COUNT) }).optional(),
  }),
  WorkflowFailed: z.object({ code: text(), task: task.nullable(), fingerprint, hasContext }),
  WorkflowParked: z.object({
    code: text(),
    task: task.nullable(),
    key: text<EffectKey>().nullable(),
    build: text<string>().optional(),
    fingerprint,
  }),
  CompensationStarted: z.object({
    undo: text<WorkflowId>(),
    depth: whole<number>(1),
    code: text(),
    key: text<EffectKey>().nullable(),
    hasContext,
  }),
};

/** The envelope around a control that is not parsed yet. */
export const envelope = z.object({
  v: whole<number>(1),
  id: text<EventId>(),
  tenant: text<TenantId>(),
  workflow: text<WorkflowId>(),
  generation: whole<Generation>(1),
  lamport: whole<Lamport>(0),
  epoch: whole<Epoch>(0),
  holder: z.string().max(NAME_MAX_CHARS) as unknown as z.ZodType<HolderId>,
  ordinal: whole<Ordinal>(0),
  atMs: timeMs,
  type: text(),
  control: z.unknown(),
  /** How the bytes after the header hold the payload. */
  payload: z.literal('json'),
});

/** The same for a sealed payload; see sealing.ts. */
export const sealedEnvelope = envelope.extend({
  payload: z.enum(['sealed', 'sealed-blob']),
  key: z.string().length(36),
});

/** The same for the name of a blob that holds the payload; see blob-records.ts. */
export const blobEnvelope = envelope.extend({ payload: z.literal('blob') });

/** The members that every later version of the envelope keeps, so that an older reader knows which stream to stop. */
export const laterEnvelope = z.object({
  v: whole<number>(SEALED_VERSION + 1),
  workflow: text<WorkflowId>(),
  generation: whole<Generation>(1),
  type: text(),
});
