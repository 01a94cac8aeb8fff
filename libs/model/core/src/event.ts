/**
 * Owns the event model: the envelope, and the clear `control` of each event type. The fold reads `control` alone; `payload` is opaque here
 * (it may be encrypted), and only code that runs, projects or shows a workflow opens it. Wire schemas are in codec and are checked against
 * these types at compile time. Must not do I/O, nor know how an event is stored.
 */

import type { Continues } from './continues.ts';
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
import type { Spend, SpendParts } from './spend.ts';

/** Version of the envelope that this code writes. */
export const ENVELOPE_VERSION = 1;
/**
 * Version of the fold's rules, with which new streams are opened. Any change of what the fold makes of an event needs another: a stream keeps
 * the rules with which it was opened, and a release that doesn't know them stops there.
 */
export const RULES_VERSION = 1;

/** Dropped tasks that a closing event names. */
export const DROPPED_TASKS_MAX_COUNT = 100;

export type EffectKind = 'pure' | 'idempotent' | 'irreversible';

/** What a task waits for besides other tasks. Any one of its conditions is enough. */
export type Condition =
  | { readonly kind: 'signal'; readonly name: string }
  | { readonly kind: 'timer'; readonly timer: string; readonly anchorMs: number; readonly delayMs: number }
  /** A person's answer; the question is in the payload. `assignee`: who should answer, if anybody is named. */
  | {
      readonly kind: 'approval';
      readonly name: string;
      readonly askedAtMs: number;
      readonly assignee?: string | undefined;
    }
  /**
   * The end of a child workflow. `isVital`: unless the child completes, this workflow is cancelled. `isAbandoned`: when this workflow ends,
   * the child runs on.
   */
  | {
      readonly kind: 'child';
      readonly child: WorkflowId;
      readonly isVital?: true | undefined;
      readonly isAbandoned?: true | undefined;
    };

/** What happens to a child when its parent ends or is compensated. */
export type ParentClosePolicy = 'cancel' | 'terminate' | 'abandon';

/** The task of another workflow that waits for this one. */
export interface Parent {
  readonly workflow: WorkflowId;
  readonly task: TaskId;
  readonly onClose: ParentClosePolicy;
}

/** A task as a checkpoint adds it to the frontier. Its id derives from the checkpoint's sequence and its index in the list. */
export interface TaskDeclaration {
  readonly step: string;
  /** Tasks that must be done first; `all`: every pending task that was created before this one. */
  readonly after: readonly TaskId[] | 'all';
  /** Conditions, any one of which is enough; empty: none. */
  readonly when: readonly Condition[];
}

export interface Retry {
  /** Name of the timer after which the task may run again. */
  readonly timer: string;
  readonly anchorMs: number;
  readonly delayMs: number;
}

/** What equal failures have in common: 12 hexadecimal digits. Absent in events that follow from a failure that said it. */
export type Fingerprint = string;

/** A fault of a call that passes by itself: a limit, an outage, a cut connection. */
export interface Outage {
  /** Whom the task waits for: an operation, a model, or the step that called. */
  readonly of: string;
  /** The status or code of the last such fault: `429`, `ECONNREFUSED`. */
  readonly why: string;
  /** When the first of the latest such faults in a row happened, by the holder's clock, and how many there were. */
  readonly sinceMs: number;
  readonly count: number;
  /** How much of it the task has waited in line for its turn, in milliseconds: no patience is used up by that. */
  readonly inLineMs?: number | undefined;
}

/** SHA-256, 64 lower-case hex digits. */
export type Sha256 = string;

/** Why a lease was revoked. All reasons but `asked` count as a crash of the task that ran. */
export type RevokeReason = 'holder-dead' | 'lease-not-listed' | 'asked';

/**
 * What a person (or a rule in a person's name) decides about a parked workflow. `retry`: resume as if nothing had failed; `done` and
 * `not-done`: the outcome of the effect in question; `compensate`: undo the effects; `fail`: end the workflow.
 */
export type Resolution = 'retry' | 'done' | 'not-done' | 'compensate' | 'fail';

/** The workflow that this one compensates, and the depth of nesting: 1 when that one is an ordinary workflow. */
export interface Compensates {
  readonly workflow: WorkflowId;
  readonly depth: number;
}

/** The checkpoint of another workflow at which a fork begins. Both share the history up to there. */
export interface Fork {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  /**
   * `replay`: the fork's effects get the recorded outcomes, and nothing is called; `live`: they are called. Of a reset: `keep`: what is
   * recorded as done answers the same request, and only the rest is called; `ask`: a person decides which of those to make again.
   */
  readonly effects: 'replay' | 'live' | 'keep' | 'ask';
}

/** Attributes of the workflow's trace, recorded at its opening. */
export interface TraceHints {
  /** W3C `traceparent` of the caller that started it: the trace links there. */
  readonly parent?: string | undefined;
  /** The definition is declared as an agent. */
  readonly agent?: true | undefined;
  /** Steps that are declared as planning. */
  readonly plans?: readonly string[] | undefined;
}

/** 1 is served first, 5 last. */
export type Priority = 1 | 2 | 3 | 4 | 5;
export const PRIORITY_DEFAULT: Priority = 3;
export const PRIORITIES: readonly Priority[] = [1, 2, 3, 4, 5];

/** Delays a workflow while too many others with the same key run, or have just begun. */
export interface DispatchLimit {
  /** Names the limited resource: a customer, a provider, a repository. */
  readonly key: string;
  /** Which workflows count together: those of the tenant (the default), or all. */
  readonly scope?: 'tenant' | 'fleet' | undefined;
  /** At most this many workflows of the key run at once. One that waits for a signal or a timer doesn't run. */
  readonly concurrency?: number | undefined;
  /** At most `count` workflows of the key begin in any `perMs` milliseconds. */
  readonly rate?: { readonly count: number; readonly perMs: number } | undefined;
}

/** How a workflow is ranked among those that wait for a worker. */
export interface Dispatch {
  /** Absent: `PRIORITY_DEFAULT`. */
  readonly priority?: Priority | undefined;
  /** Absent: none. */
  readonly limits?: readonly DispatchLimit[] | undefined;
}

/** The clear part of every event type. */
export interface Controls {
  // Inbox events: any authorised caller writes them, through a coordinator.
  readonly WorkflowOpened: {
    readonly definition: string;
    readonly version: number;
    readonly rules: number;
    readonly partition: Partition;
    readonly placement: 'exclusive' | 'shared';
    readonly inputDigest: Sha256;
    readonly tasks: readonly TaskDeclaration[];
    /** The workflow runs with exactly this version of its definition. */
    readonly pinned: boolean;
    /** The workflow is only observed: its agent runs elsewhere, and no worker claims it. */
    readonly shadow: boolean;
    readonly compensates: Compensates | null;
    /** The session that the workflow belongs to, and the user of it. */
    readonly session?: string | undefined;
    readonly user?: string | undefined;
    /** Tags by which people find it. */
    readonly tags?: readonly string[] | undefined;
    readonly fork?: Fork | undefined;
    readonly trace?: TraceHints | undefined;
    /** Absent: the workflow has no parent. */
    readonly parent?: Parent | undefined;
    /** Absent: it is a first run. */
    readonly continues?: Continues | undefined;
    /** Milliseconds after its opening at which it is cancelled. */
    readonly timeoutMs?: number | undefined;
    /** Absent: the default priority, and no limits. */
    readonly dispatch?: Dispatch | undefined;
    /** The payload holds context of the workflow: fragments, texts, working memory or memories. */
    readonly hasContext?: true | undefined;
  };
  /**
   * Belongs to no workflow: the rows of this partition are about to be rebuilt from the log. Openings that older rows placed and that have
   * not reached the log yet are rejected from here on: the new rows can't know of them and may place their workflows again.
   */
  readonly PartitionFenced: { readonly partition: Partition };
  /** `sizeBytes`: size of the value as JSON. */
  /** `replaces`: the signal that no step has read yet whose value this is from now on, in the same place. `by`: who amended it. */
  readonly SignalReceived: {
    readonly name: string;
    readonly sizeBytes?: number | undefined;
    readonly replaces?: EventId | undefined;
    readonly by?: string | undefined;
  };
  /** A signal that no step has read yet is never delivered. */
  readonly SignalDiscarded: { readonly signal: EventId; readonly by: string };
  readonly TimerFired: { readonly timer: string };
  /**
   * Names the lease that it ends, and affects no other. `isGone`: the holder's process is known to have ended. Otherwise it only fell
   * silent, and what it had begun it may still do. `beside`: how many other leases of the holder ended with it.
   */
  readonly LeaseRevoked: {
    readonly epoch: Epoch;
    readonly holder: HolderId;
    readonly reason: RevokeReason;
    readonly isGone?: boolean | undefined;
    readonly beside?: number | undefined;
  };
  /** The outcome of an effect that the receiver accepted and confirmed later. */
  readonly EffectConfirmed: {
    readonly token: string;
    readonly outcome: 'done' | 'failed';
    readonly responseDigest: Sha256;
  };
  /** Answers one question of a parked workflow, and no other. */
  readonly ApprovalDecided: {
    readonly question: EventId;
    readonly resolution: Resolution;
    /** Who decided. */
    readonly by: string;
    /** Digest of the response that comes with `done`. */
    readonly responseDigest: Sha256 | null;
  };
  /**
   * A coordinator's decision: the failed task runs again on a build that announced itself. Answers one question as `retry` does, and no
   * other.
   */
  readonly RetryDecided: { readonly question: EventId; readonly build: string };
  /** The compensation has ended: `compensated`, or `failed` when a person ended it. */
  readonly CompensationFinished: { readonly undo: WorkflowId; readonly outcome: 'compensated' | 'failed' };
  /** Pins the workflow to its version, or unpins it. */
  readonly VersionPinned: { readonly pinned: boolean; readonly by: string };
  /** Memories that come with no checkpoint: facts and preferences that people or programs write, in the payload. */
  readonly MemoryWritten: { readonly count: number };
  /** The workflow may spend this much more. Resumes a workflow that is parked because its budget is spent. */
  readonly BudgetRaised: Spend & { readonly by: string };
  /** No further task starts; registered effects are compensated, and the workflow ends with this reason. */
  readonly CancelRequested: { readonly code: string; readonly by: string };
  /** The workflow ends at once, even while a holder has its lease, and nothing is compensated. */
  readonly WorkflowTerminated: { readonly code: string; readonly by: string };
  /**
   * This history ends at once, even while a holder has its lease, and is superseded: `as` begins at its checkpoint `at`, with the opening in
   * the payload.
   */
  readonly WorkflowReset: { readonly as: WorkflowId; readonly at: Sequence; readonly by: string };
  /** No further task starts until the workflow is resumed; signals and answers are still stored. */
  readonly PauseRequested: { readonly by: string };
  readonly ResumeRequested: { readonly by: string };
  /** Answers the approval that a task awaits; the value is in the payload. */
  readonly ApprovalGiven: {
    readonly task: TaskId;
    readonly name: string;
    readonly approved: boolean;
    readonly by: string;
  };
  /** The child that a task awaits has ended; its output or error is in the payload. */
  readonly ChildClosed: {
    readonly task: TaskId;
    readonly child: WorkflowId;
    readonly outcome: 'completed' | 'failed' | 'compensated';
  };
  /** A person's decision about the unreadable record at which the stream stopped: ignore it (`skip`), or read it once more (`take`). */
  readonly RecordJudged: { readonly offset: Offset; readonly judgement: 'skip' | 'take'; readonly by: string };

  // Holder events: written with the fencing token (epoch, holder) and the next ordinal.
  readonly LeaseClaimed: Readonly<Record<string, never>>;
  /** From here on the stream holds events that need these rules; a release that doesn't know them stops here. */
  readonly RulesRaised: { readonly rules: number };
  /** `fault`: an error outside of any step ended the run; it counts as a crash. */
  readonly LeaseReleased: { readonly reason: 'idle' | 'drain' | 'fault' };
  readonly CheckpointReserved: { readonly checkpoint: CheckpointId; readonly task: TaskId };
  readonly EffectIntended: {
    readonly task: TaskId;
    readonly key: EffectKey;
    readonly operation: string;
    readonly kind: EffectKind;
    readonly requestDigest: Sha256;
    /** Longest time that the call may take, in milliseconds. */
    readonly timeoutMs: number;
    /** Set for a model call: the hash of the bundle's manifest, and the budget reserved for the call. */
    readonly model?: { readonly bundle: Sha256 | null; readonly reserved: Spend } | undefined;
    /** Digest of the request, for calls by which an agent could run in circles: equal requests have equal digests. */
    readonly question?: Sha256 | undefined;
    readonly hasContext?: true | undefined;
  };
  /** The receiver accepted the effect, and its confirmation is outstanding. The task waits for that, or for one of two timers. */
  readonly EffectPending: {
    readonly task: TaskId;
    readonly key: EffectKey;
    /** The receiver's token for the effect; the confirmation names it. */
    readonly token: string;
    /** When to probe; null: never. */
    readonly probe: Retry | null;
    /** When the confirmation is overdue, so that a person decides. */
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
    /** Set for a model call: its final cost, also where it failed. */
    readonly spent?: Spend | undefined;
    /** Set for an effect without an intention: when it began, by the holder's clock. */
    readonly startedAtMs?: number | undefined;
    readonly hasContext?: true | undefined;
  };
  readonly CheckpointCommitted: SpendParts & {
    readonly checkpoint: CheckpointId;
    readonly sequence: Sequence;
    readonly parent: CheckpointId | null;
    readonly task: TaskId;
    readonly step: string;
    readonly stepVersion: number;
    readonly inputDigest: Sha256;
    /** Tasks added to the frontier, as `{sequence}.0`, `{sequence}.1`, … */
    readonly tasks: readonly TaskDeclaration[];
    /** Pending tasks that nobody waits for any more: they leave the frontier undone. None has called anything, nor waits for a child. */
    readonly drops?: readonly TaskId[] | undefined;
    /** `none`: belief is unchanged; `snapshot`: the payload holds all of it. */
    readonly belief: 'none' | 'delta' | 'snapshot';
    readonly tokens: number;
    /** Cost in millionths of a US dollar. */
    readonly costMicros: number;
    /** The agent's last action, in words; the system records it beside the user's own fields. */
    readonly lastAction: string;
    /** An earlier checkpoint of this chain that this one corrects. */
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
    /** Given where the fault passes by itself, and the step is run again. */
    readonly outage?: Outage | undefined;
    readonly startedAtMs?: number | undefined;
    readonly fingerprint?: Fingerprint | undefined;
  };
  /** `continued`: the next run, whose opening is in the payload; the digest is then that of its input. */
  /** `dropped`: the tasks that were pending, and are not done any more; the first ones, and how many there were. */
  readonly WorkflowCompleted: {
    readonly outputDigest: Sha256;
    readonly continued?: WorkflowId | undefined;
    readonly dropped?: { readonly count: number; readonly tasks: readonly TaskId[] } | undefined;
  };
  readonly WorkflowFailed: {
    readonly code: string;
    readonly task: TaskId | null;
    readonly fingerprint?: Fingerprint | undefined;
    readonly hasContext?: true | undefined;
  };
  /** The workflow waits for a person. The evidence is in the payload, and the event's id names the question. */
  readonly WorkflowParked: {
    readonly code: string;
    readonly task: TaskId | null;
    readonly key: EffectKey | null;
    /** Set when a task failed for good: the build that ran it. */
    readonly build?: string | undefined;
    readonly fingerprint?: Fingerprint | undefined;
  };
  /** The workflow `undo` compensates this one, which is frozen meanwhile. This happens at most once per workflow. */
  readonly CompensationStarted: {
    readonly undo: WorkflowId;
    readonly depth: number;
    /** The reason, as a code. */
    readonly code: string;
    /** The effect whose outcome was the cause. */
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
    /** Milliseconds since the Unix epoch by the writer's clock. It is for people; the fold compares it with the parent checkpoint only. */
    readonly atMs: number;
    readonly type: K;
    readonly control: Controls[K];
  };
}[T];

/** A record that is an event of a known type and version. */
export type EventEntry = Extract<LogEntry, { readonly kind: 'event' }>;

/** What stands at one offset, decoded as far as its bytes allow. */
export type LogEntry =
  | {
      readonly kind: 'event';
      readonly envelope: Envelope;
      readonly payload: Uint8Array;
      /**
       * How the log stores the payload. `forgotten`: its key was destroyed, so nothing proves it. Absent: the payload is null, or nobody
       * checked.
       */
      readonly seal?: 'sealed' | 'forgotten' | 'plain' | undefined;
      /**
       * Why the payload is permanently unreadable, as a code. A problem that may pass by waiting is an error of the reader, not an entry.
       */
      readonly problem?: string | undefined;
    }
  /** A sound envelope whose type or version this process doesn't know. */
  | {
      readonly kind: 'unknown';
      readonly workflow: WorkflowId;
      readonly generation: Generation;
      readonly type: string;
      readonly v: number;
    }
  /** Bytes that are no event; that depends on the bytes alone. */
  | { readonly kind: 'malformed'; readonly problem: string };
