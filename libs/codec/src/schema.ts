/**
 * Owns the wire schemas of version 1: the envelope, the clear control of every event type, and their payloads. The
 * controls are checked against core's types at compile time. Must not read or write records (see record.ts).
 */

import {
  type Cause,
  type CheckpointId,
  type Controls,
  type Delta,
  type EffectKey,
  type Epoch,
  type EventId,
  type EventType,
  type Fragment,
  type Generation,
  type HolderId,
  type Json,
  type Lamport,
  type Ordinal,
  type Partition,
  type Position,
  type Sequence,
  type Sha256,
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
/** One text for each task: without leading zeros, and with an index that no other sequence's rank can meet. */
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
]);

/** When something began that an event ends. */
const startedAtMs = timeMs.optional();
/** Steps that plan, at most. */
const PLANS_MAX_COUNT = 256;
const traceHints = z.object({
  parent: text().optional(),
  agent: z.literal(true).optional(),
  plans: z.array(text()).max(PLANS_MAX_COUNT).optional(),
});

const spend = z.object({ tokens: z.number().min(0), costMicros: z.number().min(0) });
const hasContext = z.literal(true).optional();

const retry = z.object({ timer: text(), anchorMs: timeMs, delayMs: timeMs });

const declaration: z.ZodType<TaskDeclaration> = z.object({
  step: text(),
  after: z.union([z.literal('all'), z.array(task)]),
  when: z.array(condition),
});

/** Time-out of effects that were intended before it was recorded, in milliseconds: the default of that time. */
export const UNSTATED_TIMEOUT_MS = 30_000;

/** The control of each event type, by type. What later writers added has a default, so that older records stay readable. */
export const controls: { readonly [T in EventType]: z.ZodType<Controls[T]> } = {
  WorkflowOpened: z.object({
    definition: text(),
    version: whole<number>(0),
    rules: whole<number>(1),
    partition: whole<Partition>(0),
    placement: z.enum(['exclusive', 'shared']),
    inputDigest: digest,
    tasks: z.array(declaration),
    pinned: z.boolean().default(false),
    shadow: z.boolean().default(false),
    compensates: z
      .object({ workflow: text<WorkflowId>(), depth: whole<number>(1) })
      .nullable()
      .default(null),
    session: text().optional(),
    user: text().optional(),
    fork: z
      .object({ workflow: text<WorkflowId>(), sequence: whole<Sequence>(0), effects: z.enum(['replay', 'live']) })
      .optional(),
    trace: traceHints.optional(),
    timeoutMs: whole<number>(1).optional(),
    hasContext,
  }),
  PartitionFenced: z.object({ partition: whole<Partition>(0) }),
  SignalReceived: z.object({ name: text() }),
  TimerFired: z.object({ timer: text() }),
  LeaseRevoked: z.object({
    epoch: whole<Epoch>(1),
    holder: text<HolderId>(),
    // Once it was any text.
    reason: z.enum(['holder-dead', 'lease-not-listed', 'asked']).catch('asked'),
  }),
  EffectConfirmed: z.object({ token: text(), outcome: z.enum(['done', 'failed']), responseDigest: digest }),
  ApprovalDecided: z.object({
    question: text<EventId>(),
    resolution: z.enum(['retry', 'done', 'not-done', 'compensate', 'fail']),
    by: text(),
    responseDigest: digest.nullable(),
  }),
  CompensationFinished: z.object({ undo: text<WorkflowId>(), outcome: z.enum(['compensated', 'failed']) }),
  VersionPinned: z.object({ pinned: z.boolean(), by: text() }),
  MemoryWritten: z.object({ count: whole<number>(1) }),
  BudgetRaised: spend.extend({ by: text() }),
  CancelRequested: z.object({ code: text(), by: text() }),
  WorkflowTerminated: z.object({ code: text(), by: text() }),
  PauseRequested: z.object({ by: text() }),
  ResumeRequested: z.object({ by: text() }),
  LeaseClaimed: z.object({}),
  LeaseReleased: z.object({ reason: z.enum(['idle', 'drain', 'fault']) }),
  CheckpointReserved: z.object({ checkpoint: text<CheckpointId>(), task }),
  EffectIntended: z.object({
    task,
    key: text<EffectKey>(),
    operation: text(),
    kind,
    requestDigest: digest,
    timeoutMs: timeMs.default(UNSTATED_TIMEOUT_MS),
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
    belief: z.enum(['none', 'delta', 'snapshot']),
    tokens: z.number().min(0),
    costMicros: z.number().min(0),
    lastAction: z.string(),
    supersedes: whole<Sequence>(1).nullable().default(null),
    startedAtMs,
    hasContext,
  }),
  StepFailed: z.object({
    task,
    attempt: whole<number>(1),
    code: text(),
    retry: retry.nullable(),
    startedAtMs,
  }),
  WorkflowCompleted: z.object({ outputDigest: digest }),
  WorkflowFailed: z.object({ code: text(), task: task.nullable(), hasContext }),
  WorkflowParked: z.object({ code: text(), task: task.nullable(), key: text<EffectKey>().nullable() }),
  CompensationStarted: z.object({
    undo: text<WorkflowId>(),
    depth: whole<number>(1),
    code: text(),
    key: text<EffectKey>().nullable(),
    hasContext,
  }),
};

/** The envelope around a control that is not looked into yet. */
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

/** The same around a payload that is sealed; see sealing.ts. */
export const sealedEnvelope = envelope.extend({
  payload: z.enum(['sealed', 'sealed-blob']),
  key: z.string().length(36),
});

/** The same around the name of a blob that holds the payload; see blob-records.ts. */
export const blobEnvelope = envelope.extend({ payload: z.literal('blob') });

/** What every later version of the envelope keeps, so that an older reader knows which stream to stop. */
export const laterEnvelope = z.object({
  v: whole<number>(SEALED_VERSION + 1),
  workflow: text<WorkflowId>(),
  generation: whole<Generation>(1),
  type: text(),
});

/** An entry of the execution log: what a step did, for people. */
export interface LogNote {
  readonly atMs: number;
  readonly action: string;
  readonly detail?: Json;
}

/** What a step's error looked like. */
export interface ErrorNote {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}

/**
 * A fragment as an event holds it: `text` where the workflow has it for the first time; else `digest` names a text that an
 * earlier event of the workflow, or this one's `texts`, holds.
 */
export interface StoredFragment extends Pick<Fragment, 'type' | 'call' | 'tool' | 'covers'> {
  readonly text?: string;
  readonly digest?: Sha256;
}

/** One change of long-term memory. Without a value: forget it. */
export interface MemoryWrite {
  /** Whose memory: `user:ana`, `pipeline:content`. */
  readonly subject: string;
  readonly kind: 'summary' | 'fact' | 'state' | 'record';
  readonly key: string;
  readonly value?: Json;
  /** What it is found by; absent: only by its key. */
  readonly words?: string;
  /** Who or what told it. */
  readonly source?: string;
}

/** A change of the phase's working memory: what was put (null: removed), or the hand-over to another phase with all that it carries. */
export type ScopeChange =
  | { readonly phase: string; readonly put: Readonly<Record<string, Json>>; readonly removed?: readonly string[] }
  | {
      readonly phase: string;
      readonly from: string | null;
      /** All of the new phase's memory. */
      readonly carried: Readonly<Record<string, Json>>;
      /** Keys that the old phase left behind. */
      readonly left: readonly string[];
      readonly summary: string;
    };

/** What an assembled bundle followed from, but for what the workflow's own events hold: enough to assemble it again. */
export interface BundleOrigin {
  readonly type: string;
  /** The checkpoint up to which the workflow's fragments, trace and working memory count. */
  readonly upTo: Sequence;
  /** Earlier workflows of the session, nearest first. */
  readonly session?: readonly { readonly workflow: WorkflowId; readonly upTo: Sequence }[];
  /** Digests of texts: the policy as canonical JSON, and what was injected. */
  readonly policy: Sha256;
  readonly tokenizer: string;
  readonly system?: Sha256;
  readonly user?: Sha256;
  readonly continuation?: Sha256;
  readonly placeholders?: Readonly<Record<string, string>>;
  /** The phase that the workflow began in, where it has any. */
  readonly firstPhase?: string;
  /** SHA-256 of the messages' canonical JSON: of the bundle's bytes. */
  readonly messages: Sha256;
}

/** What a fork goes on from, beside what its control says. What it shares is named, and stays where it is. */
export interface ForkOrigin {
  /** Who made it. */
  readonly by: string;
  /** Workflows whose history it shares up to a checkpoint, at which they had this position: its base, the base's base, … */
  readonly shares: readonly { readonly workflow: WorkflowId; readonly upTo: Sequence; readonly position: Position }[];
  /** Belief or version are not what they were there, so what closures gave there doesn't count. */
  readonly isChanged: boolean;
  /** Versions of the definition that stored the input and the belief. */
  readonly inputVersion: number;
  readonly beliefVersion: number;
  /** Of each first task, by index. */
  readonly tasks: readonly {
    /** Its id in the base, and in the history as a whole, counted on from workflow to workflow. */
    readonly task: TaskId;
    readonly place: TaskId;
    readonly version: number;
    /** What had fulfilled its condition. */
    readonly cause?: Cause & { readonly value: Json };
  }[];
  /** What the base saw of its session: earlier workflows, nearest first; and the workflow that holds the texts that were found for it. */
  readonly session?: {
    readonly runs: NonNullable<BundleOrigin['session']>;
    readonly found?: { readonly of: WorkflowId; readonly continuation?: Sha256; readonly user?: Sha256 };
  };
}

/** The opaque part of every event type. `tasks` holds the inputs of the tasks that the control declares, by index. */
export interface Payloads {
  readonly WorkflowOpened: {
    readonly input: Json;
    readonly belief: Json;
    readonly tasks: readonly Json[];
    readonly fragments?: readonly StoredFragment[];
    readonly fork?: ForkOrigin;
  };
  readonly PartitionFenced: null;
  readonly SignalReceived: { readonly value: Json };
  readonly TimerFired: null;
  readonly LeaseRevoked: null;
  readonly EffectConfirmed: { readonly response: Json } | { readonly error: ErrorNote };
  /** `response`: what the effect in question answered, where the resolution is `done`. */
  readonly ApprovalDecided: { readonly why: string; readonly response?: Json };
  readonly CompensationFinished: { readonly error?: ErrorNote };
  readonly VersionPinned: { readonly why: string };
  readonly MemoryWritten: { readonly memories: readonly MemoryWrite[] };
  readonly BudgetRaised: { readonly why: string };
  readonly CancelRequested: { readonly why: string };
  /** `error`: what waits for a result is told. */
  readonly WorkflowTerminated: { readonly why: string; readonly error: ErrorNote };
  readonly PauseRequested: { readonly why: string };
  readonly ResumeRequested: { readonly why: string };
  readonly LeaseClaimed: null;
  readonly LeaseReleased: null;
  readonly CheckpointReserved: null;
  /** `texts`: those that the workflow has for the first time, by their digests. */
  readonly EffectIntended: {
    readonly request: Json;
    readonly bundle?: BundleOrigin;
    /** Names the messages that the step itself sends (see the runtime's prompt chain). */
    readonly prompt?: Sha256;
    /** Of a fork: the effect of its base whose recorded outcome answers this one. */
    readonly replays?: EffectKey;
    readonly texts?: Readonly<Record<Sha256, string>>;
  };
  /** What the receiver said when it accepted, for whoever confirms. */
  readonly EffectPending: { readonly detail: Json };
  readonly EffectResolved: { readonly response: Json } | { readonly error: ErrorNote };
  readonly CheckpointCommitted: {
    readonly output: Json;
    /** A delta or a snapshot, as the control says; absent for `none`. */
    readonly delta?: Delta;
    readonly snapshot?: Json;
    readonly tasks: readonly Json[];
    readonly log?: readonly LogNote[];
    readonly fragments?: readonly StoredFragment[];
    readonly scope?: ScopeChange;
    readonly memories?: readonly MemoryWrite[];
  };
  readonly StepFailed: { readonly error: ErrorNote };
  readonly WorkflowCompleted: { readonly output: Json };
  readonly WorkflowFailed: { readonly error: ErrorNote; readonly memories?: readonly MemoryWrite[] };
  readonly WorkflowParked: { readonly error: ErrorNote; readonly evidence: Json };
  readonly CompensationStarted: {
    readonly error: ErrorNote;
    readonly evidence: Json;
    readonly memories?: readonly MemoryWrite[];
  };
}
