/**
 * Owns the event model: the envelope, and what each type's clear `control` holds. `control` is all that the fold reads;
 * `payload` is opaque here (it may be encrypted) and is opened only by workers and projectors. Wire schemas are in codec
 * and are checked against these types at compile time. Must not do I/O, nor know how an event is stored.
 */

import type { Continues, Spend } from './continues.ts';
import type {
  CheckpointId,
  EffectKey,
  Epoch,
  EventId,
  Generation,
  HolderId,
  Lamport,
  Offset,
  Ordinal,
  Partition,
  Sequence,
  TaskId,
  TenantId,
  WorkflowId,
} from './ids.ts';

/** Version of the envelope that this code writes. */
export const ENVELOPE_VERSION = 1;
/**
 * Version of the fold's rules that new streams are opened with. 2: checkpoints of older versions, and signals beyond the limit,
 * are rejected.
 */
export const RULES_VERSION = 2;
/** The same rules, under a version of their own for forks: a release that knows none must not run one as if it were no fork. */
export const FORK_RULES_VERSION = 3;
/**
 * The same rules, and those of a workflow's lifecycle: it may be cancelled, paused, ended from outside, and be timed. A release
 * that knows nothing of that must not run such a workflow; streams are raised to this version by the first such event.
 */
export const LIFECYCLE_RULES_VERSION = 4;

export type EffectKind = 'pure' | 'idempotent' | 'irreversible';

/** What a task waits for besides other tasks. Any one of a task's conditions is enough. */
export type Condition =
  | { readonly kind: 'signal'; readonly name: string }
  | { readonly kind: 'timer'; readonly timer: string; readonly anchorMs: number; readonly delayMs: number }
  /** A person's answer; what they are asked is in the payload. `assignee`: who is to answer, where that is said. */
  | {
      readonly kind: 'approval';
      readonly name: string;
      readonly askedAtMs: number;
      readonly assignee?: string | undefined;
    }
  /** The end of a workflow that is started for it. `isVital`: unless that completes, this one is cancelled. */
  | { readonly kind: 'child'; readonly child: WorkflowId; readonly isVital?: true | undefined };

/** What becomes of a child when its parent ends, or is undone. */
export type ParentClosePolicy = 'cancel' | 'terminate' | 'abandon';

/** The task of another workflow that waits for this one. */
export interface Parent {
  readonly workflow: WorkflowId;
  readonly task: TaskId;
  readonly onClose: ParentClosePolicy;
}

/** A task as it is added to the frontier; its id follows from the sequence that adds it and its index in the list. */
export interface TaskDeclaration {
  readonly step: string;
  /** Tasks that must be done first; `all`: every task that is pending and was created before this one. */
  readonly after: readonly TaskId[] | 'all';
  /** Conditions of which one must be fulfilled; empty: none. */
  readonly when: readonly Condition[];
}

export interface Retry {
  /** Name of the timer whose firing lets the task run again. */
  readonly timer: string;
  readonly anchorMs: number;
  readonly delayMs: number;
}

/** SHA-256, 64 lower-case hex digits. */
export type Sha256 = string;

/** Why a lease was taken away. All but `asked` count as a crash of what was running. */
export type RevokeReason = 'holder-dead' | 'lease-not-listed' | 'asked';

/**
 * What a person (or a rule in a person's name) decides about a parked workflow. `retry`: go on as if nothing had failed
 * yet; `done` and `not-done`: what became of the effect in question; `compensate`: undo what was done; `fail`: end it.
 */
export type Resolution = 'retry' | 'done' | 'not-done' | 'compensate' | 'fail';

/** The workflow that this one undoes, and how many undoings lie in one another: 1 for that of an ordinary workflow. */
export interface Compensates {
  readonly workflow: WorkflowId;
  readonly depth: number;
}

/** The checkpoint of another workflow from which a workflow goes on, sharing that one's history up to there. */
export interface Fork {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  /** `replay`: what was recorded there answers its effects, and nothing is called; `live`: they are called. */
  readonly effects: 'replay' | 'live';
}

/** What a trace of the workflow is drawn with, as its opening tells it. */
export interface TraceHints {
  /** W3C `traceparent` of whoever started it: its trace links there. */
  readonly parent?: string | undefined;
  /** Its definition is declared as an agent's. */
  readonly agent?: true | undefined;
  /** Steps that are declared as planning. */
  readonly plans?: readonly string[] | undefined;
}

/** 1 is served first, 5 last. */
export type Priority = 1 | 2 | 3 | 4 | 5;
export const PRIORITY_DEFAULT: Priority = 3;
export const PRIORITIES: readonly Priority[] = [1, 2, 3, 4, 5];

/** Keeps a workflow waiting for a worker while too many others of the same key run, or began a moment ago. */
export interface DispatchLimit {
  /** Names what is limited: a customer, a provider, a repository. */
  readonly key: string;
  /** Whose workflows are counted together: those of its tenant (also when absent), or of all. */
  readonly scope?: 'tenant' | 'fleet' | undefined;
  /** Workflows of the key that are worked on at once, at most; one that waits for a signal or a timer isn't worked on. */
  readonly concurrency?: number | undefined;
  /** Workflows of the key that begin, at most `count` in any `perMs` milliseconds. */
  readonly rate?: { readonly count: number; readonly perMs: number } | undefined;
}

/** How a workflow stands among those that wait for a worker. */
export interface Dispatch {
  /** Absent: `PRIORITY_DEFAULT`. */
  readonly priority?: Priority | undefined;
  /** Absent: none. */
  readonly limits?: readonly DispatchLimit[] | undefined;
}

/** The clear part of every event type. Absent members mean what older records meant without them. */
export interface Controls {
  // Inbox events: written by anyone authorised, through a coordinator.
  readonly WorkflowOpened: {
    readonly definition: string;
    readonly version: number;
    readonly rules: number;
    readonly partition: Partition;
    readonly placement: 'exclusive' | 'shared';
    readonly inputDigest: Sha256;
    readonly tasks: readonly TaskDeclaration[];
    /** Runs with exactly this version of its definition. */
    readonly pinned: boolean;
    /** Observed only: its agent runs elsewhere, and no worker claims it. */
    readonly shadow: boolean;
    readonly compensates: Compensates | null;
    /** The session that it is a part of, and whose it is. */
    readonly session?: string | undefined;
    readonly user?: string | undefined;
    /** By which people find it. */
    readonly tags?: readonly string[] | undefined;
    readonly fork?: Fork | undefined;
    readonly trace?: TraceHints | undefined;
    /** Absent: it was started by itself. */
    readonly parent?: Parent | undefined;
    /** Absent: it began by itself. */
    readonly continues?: Continues | undefined;
    /** Time from its opening, in milliseconds, after which it is cancelled. */
    readonly timeoutMs?: number | undefined;
    /** Absent: the default priority, and no limits. */
    readonly dispatch?: Dispatch | undefined;
    /** The payload holds something of the workflow's context: fragments, texts, working memory, memories. */
    readonly hasContext?: true | undefined;
  };
  /**
   * No workflow's: rows of this partition are about to be made from the log. Openings that were placed by earlier rows and have
   * not landed yet are rejected from here on, since the new rows can't know of them, and may have placed their workflows anew.
   */
  readonly PartitionFenced: { readonly partition: Partition };
  /** `sizeBytes`: of the value, as JSON. */
  readonly SignalReceived: { readonly name: string; readonly sizeBytes?: number | undefined };
  readonly TimerFired: { readonly timer: string };
  /** Names the lease that it ends, and counts for no other. */
  readonly LeaseRevoked: { readonly epoch: Epoch; readonly holder: HolderId; readonly reason: RevokeReason };
  /** What became of an effect that was accepted outside and confirmed later. */
  readonly EffectConfirmed: {
    readonly token: string;
    readonly outcome: 'done' | 'failed';
    readonly responseDigest: Sha256;
  };
  /** Answers the question of a parked workflow, and no other. */
  readonly ApprovalDecided: {
    readonly question: EventId;
    readonly resolution: Resolution;
    /** Who decided. */
    readonly by: string;
    /** Of the response that comes with `done`. */
    readonly responseDigest: Sha256 | null;
  };
  /** A coordinator's: the task in question goes on on a build that announced itself. Answers the question as `retry` does, and no other. */
  readonly RetryDecided: { readonly question: EventId; readonly build: string };
  /** The undoing has ended: `compensated`, or `failed` when a person ended it. */
  readonly CompensationFinished: { readonly undo: WorkflowId; readonly outcome: 'compensated' | 'failed' };
  /** Keeps the workflow to its version, or lets it go on with newer ones. */
  readonly VersionPinned: { readonly pinned: boolean; readonly by: string };
  /** Memories that no checkpoint brings: facts and preferences that people or programs tell, in the payload. */
  readonly MemoryWritten: { readonly count: number };
  /** The workflow may spend that much more; ends a pause for want of it. */
  readonly BudgetRaised: Spend & { readonly by: string };
  /** No further task starts; what was done is undone where that is registered, and the workflow ends for this reason. */
  readonly CancelRequested: { readonly code: string; readonly by: string };
  /** It ends at once, whoever holds it, and nothing is undone. */
  readonly WorkflowTerminated: { readonly code: string; readonly by: string };
  /** No further task starts until it is resumed; what comes meanwhile is kept. */
  readonly PauseRequested: { readonly by: string };
  readonly ResumeRequested: { readonly by: string };
  /** Answers the approval that a task waits for; the value is in the payload. */
  readonly ApprovalGiven: {
    readonly task: TaskId;
    readonly name: string;
    readonly approved: boolean;
    readonly by: string;
  };
  /** The workflow that a task waits for has ended; its output or error is in the payload. */
  readonly ChildClosed: {
    readonly task: TaskId;
    readonly child: WorkflowId;
    readonly outcome: 'completed' | 'failed' | 'compensated';
  };
  /** Of the record at which the stream stands, since it can't be read: it counts for nothing (`skip`), or is read once more (`take`). */
  readonly RecordJudged: { readonly offset: Offset; readonly judgement: 'skip' | 'take'; readonly by: string };

  // Holder events: written with the fencing token (epoch, holder) and the next ordinal.
  readonly LeaseClaimed: Readonly<Record<string, never>>;
  /** From here on the stream holds what only these rules know; a release that doesn't know them stops here. */
  readonly RulesRaised: { readonly rules: number };
  /** `fault`: the run ended by an error that is no step's; it counts as a crash. */
  readonly LeaseReleased: { readonly reason: 'idle' | 'drain' | 'fault' };
  readonly CheckpointReserved: { readonly checkpoint: CheckpointId; readonly task: TaskId };
  readonly EffectIntended: {
    readonly task: TaskId;
    readonly key: EffectKey;
    readonly operation: string;
    readonly kind: EffectKind;
    readonly requestDigest: Sha256;
    /** Longest time that its call may take, in milliseconds. */
    readonly timeoutMs: number;
    /** Of a model call: hash of the manifest of the bundle that it is sent, and what is reserved for it. */
    readonly model?: { readonly bundle: Sha256 | null; readonly reserved: Spend } | undefined;
    /** Of calls by which an agent could run in circles: what is asked, the same for the same question. */
    readonly question?: Sha256 | undefined;
    readonly hasContext?: true | undefined;
  };
  /** Accepted outside; its confirmation is outstanding. The task waits for it, or for one of the two timers. */
  readonly EffectPending: {
    readonly task: TaskId;
    readonly key: EffectKey;
    /** What the receiver gave for it; names the effect in its confirmation. */
    readonly token: string;
    /** When to ask the probe; null: never. */
    readonly probe: Retry | null;
    /** When it is overdue, and a person is asked. */
    readonly deadline: Retry;
  };
  readonly EffectResolved: {
    readonly task: TaskId;
    readonly key: EffectKey;
    readonly operation: string;
    readonly kind: EffectKind;
    readonly outcome: 'done' | 'failed';
    readonly requestDigest: Sha256;
    readonly responseDigest: Sha256;
    /** Of a model call: what it cost in the end. */
    readonly spent?: Spend | undefined;
    /** Of a closure, which has no intention: when it began, by the holder's clock. */
    readonly startedAtMs?: number | undefined;
    readonly hasContext?: true | undefined;
  };
  readonly CheckpointCommitted: {
    readonly checkpoint: CheckpointId;
    readonly sequence: Sequence;
    readonly parent: CheckpointId | null;
    readonly task: TaskId;
    readonly step: string;
    readonly stepVersion: number;
    readonly inputDigest: Sha256;
    /** Added to the frontier, as `{sequence}.0`, `{sequence}.1`, … */
    readonly tasks: readonly TaskDeclaration[];
    /** `none`: belief is unchanged; `snapshot`: the payload holds all of it. */
    readonly belief: 'none' | 'delta' | 'snapshot';
    readonly tokens: number;
    /** Cost in millionths of a US dollar. */
    readonly costMicros: number;
    /** What the agent did last, in words; kept by the system beside the user's own fields. */
    readonly lastAction: string;
    /** The earlier checkpoint of this chain that this one corrects. */
    readonly supersedes: Sequence | null;
    /** When this attempt at the step began, by the holder's clock; for people, and never compared. */
    readonly startedAtMs?: number | undefined;
    readonly hasContext?: true | undefined;
  };
  readonly StepFailed: {
    readonly task: TaskId;
    readonly attempt: number;
    readonly code: string;
    readonly retry: Retry | null;
    readonly startedAtMs?: number | undefined;
  };
  /** `continued`: it goes on as that workflow, whose opening is in the payload; the digest is that of its input. */
  readonly WorkflowCompleted: { readonly outputDigest: Sha256; readonly continued?: WorkflowId | undefined };
  readonly WorkflowFailed: {
    readonly code: string;
    readonly task: TaskId | null;
    readonly hasContext?: true | undefined;
  };
  /** The workflow waits for a person: evidence is in the payload, and the event's id names the question. */
  readonly WorkflowParked: {
    readonly code: string;
    readonly task: TaskId | null;
    readonly key: EffectKey | null;
    /** Of a task that failed for good: the build on which it did. */
    readonly build?: string | undefined;
  };
  /** What was done is undone by the workflow `undo`; this one is frozen meanwhile. At most once a workflow. */
  readonly CompensationStarted: {
    readonly undo: WorkflowId;
    readonly depth: number;
    /** Why, as a code. */
    readonly code: string;
    /** The effect whose outcome led here. */
    readonly key: EffectKey | null;
    readonly hasContext?: true | undefined;
  };
}

export type EventType = keyof Controls;
export type HolderEventType =
  | 'LeaseClaimed'
  | 'LeaseReleased'
  | 'RulesRaised'
  | 'CheckpointReserved'
  | 'EffectIntended'
  | 'EffectPending'
  | 'EffectResolved'
  | 'CheckpointCommitted'
  | 'StepFailed'
  | 'WorkflowCompleted'
  | 'WorkflowFailed'
  | 'WorkflowParked'
  | 'CompensationStarted';
export type InboxEventType = Exclude<EventType, HolderEventType>;

/** One event without its payload, as the fold sees it. */
export type Envelope<T extends EventType = EventType> = {
  readonly [K in T]: {
    readonly v: number;
    readonly id: EventId;
    readonly tenant: TenantId;
    readonly workflow: WorkflowId;
    readonly generation: Generation;
    readonly lamport: Lamport;
    /** Fencing token; epoch 0, holder '' and ordinal 0 on inbox events. */
    readonly epoch: Epoch;
    readonly holder: HolderId;
    readonly ordinal: Ordinal;
    /** Milliseconds since the Unix epoch by the writer's clock; for people, and bounded only against the parent checkpoint. */
    readonly atMs: number;
    readonly type: K;
    readonly control: Controls[K];
  };
}[T];

/** What stands at one offset, decoded as far as its bytes allow. */
export type LogEntry =
  | {
      readonly kind: 'event';
      readonly envelope: Envelope;
      readonly payload: Uint8Array;
      /** How the log holds its payload; `forgotten`: its key was destroyed, so nothing proves it. Absent: it says nothing (null), or nobody looked. */
      readonly seal?: 'sealed' | 'forgotten' | 'plain' | undefined;
      /** Why the payload can't be read, as a code; absent: it can. Known for good: what may change by waiting is no entry yet. */
      readonly problem?: string | undefined;
    }
  /** A sound envelope whose type or version this process does not know. */
  | {
      readonly kind: 'unknown';
      readonly workflow: WorkflowId;
      readonly generation: Generation;
      readonly type: string;
      readonly v: number;
    }
  /** Bytes that are no event of ours; the judgement depends on the bytes alone. */
  | { readonly kind: 'malformed'; readonly problem: string };
