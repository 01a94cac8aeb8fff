/**
 * Owns the shapes of folded state: a stream (one workflow) and a partition. Everything here follows from `control` alone; belief, inputs
 * and responses are content and stay in payloads. Immutable: the fold makes new values.
 */

import type { UnconsumedSignal } from './continues.ts';
import type {
  Compensates,
  Condition,
  Controls,
  EffectKind,
  Fingerprint,
  Outage,
  Parent,
  Retry,
  Sha256,
} from './event.ts';
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
  Position,
  Sequence,
  TaskId,
  TenantId,
  WorkflowId,
} from './ids.ts';
import type { Spend } from './spend.ts';
import { TaskList } from './task-list.ts';

/** Ids of inbox events that a stream remembers to reject repetitions; older ones are forgotten. */
export const INBOX_DEDUPE_MAX = 256;
/** Stored signals that no task awaits, at most; further ones are rejected. */
export const SIGNALS_MAX = 1_024;
/**
 * Bytes of their values together, as JSON: every claim of the workflow reads all of them. A single signal is accepted however large it is.
 */
export const SIGNALS_MAX_BYTES = 8 * 1_024 * 1_024;
/** A checkpoint may be older than its parent by at most this many milliseconds. */
export const CLOCK_REGRESSION_MAX_MS = 1_000;

export interface EffectState {
  readonly key: EffectKey;
  readonly operation: string;
  readonly kind: EffectKind;
  readonly status: 'intended' | 'pending' | 'done' | 'failed';
  readonly requestDigest: Sha256;
  readonly responseDigest: Sha256 | null;
  /** From the newest intention: how long a call that was lost may still run, in milliseconds. */
  readonly timeoutMs: number;
  /** Confirmed as not done, and the step has not received that yet. A failed attempt of the step clears it. */
  readonly isUntold: boolean;
  /** A holder that has since lost its lease recorded it as done: it is probed before the task counts as done. */
  readonly isSuspect: boolean;
  /** Set while its confirmation is outstanding. */
  readonly pending: PendingConfirmation | null;
  /** Set for a model call: the reserved budget, and the cost once it is known. */
  readonly spend?: Spend | undefined;
  /** Cost of earlier calls of the key: of those that failed, and of those whose callers were lost. */
  readonly wasted?: Spend | undefined;
  /** Holders that fell silent while the call was intended, the oldest first: each may still make it. Absent: all are known to be gone. */
  readonly silentHolders?: readonly HolderId[] | undefined;
  /** There are more of them than the list holds. */
  readonly hasMoreSilent?: true | undefined;
}

/** A question that was asked repeatedly. */
export interface Repeat {
  readonly question: Sha256;
  readonly count: number;
}

/** Different questions that a stream counts, at most; the oldest are forgotten. */
export const REPEATS_MAX = 32;

export interface PendingConfirmation {
  /** The event that began the wait; events that only extend it don't change it. */
  readonly id: EventId;
  readonly token: string;
  /** The timer of the next probe; null: there is none, or it has fired. */
  readonly probe: Retry | null;
  /** The timer after which the confirmation is overdue, and a person decides; null once it has fired. */
  readonly deadline: Retry | null;
  /** A timer has fired: the task may run, to probe. */
  readonly isDue: boolean;
}

/** What fulfilled a task's condition. */
export interface Cause {
  readonly kind: 'signal' | 'timer' | 'approval' | 'child';
  readonly name: string;
  /** The event that carried it; its payload holds the value. */
  readonly event: EventId;
}

export interface TaskState {
  readonly id: TaskId;
  readonly step: string;
  /** Named tasks that are not done yet. */
  readonly after: readonly TaskId[];
  /** For a task declared after `all`: how many of those tasks are not done yet. */
  readonly barrierCount: number;
  /** Conditions, any one of which is still required; empty: none. */
  readonly when: readonly Condition[];
  readonly cause: Cause | null;
  /** What it awaited until a signal came; absent: it awaits nothing, still does, or something else came. */
  readonly awaited?: readonly Condition[] | undefined;
  /** Number of failures so far. */
  readonly failureCount: number;
  /** Code of the last failure, and how many consecutive failures had it. */
  readonly failureCode: string | null;
  readonly sameFailureCount: number;
  /** How many of all failures were faults that pass by themselves: these use up no attempt. Absent: none. */
  readonly passingCount?: number | undefined;
  /** Whom the task waits for, until a call of it is done or fails otherwise. */
  readonly outage?: Outage | undefined;
  /** Set while a failed task waits for its timer. */
  readonly retry: Retry | null;
  /** The checkpoint id that was reserved before an effect; the task commits under it. */
  readonly reserved: CheckpointId | null;
  /** Its effects, in order of intention. */
  readonly effects: readonly EffectState[];
}

export interface Frontier {
  /** Pending tasks, in order of creation. */
  readonly tasks: TaskList<TaskState>;
  /** For each pending task that others name in `after`: those others. */
  readonly waiting: TaskList<{ readonly id: TaskId; readonly dependents: readonly TaskId[] }>;
  /** Pending tasks that were declared after `all`, in order of creation. */
  readonly barriers: readonly TaskId[];
}

export const EMPTY_FRONTIER: Frontier = { tasks: TaskList.empty(), waiting: TaskList.empty(), barriers: [] };

export interface Lease {
  readonly epoch: Epoch;
  readonly holder: HolderId;
  /** Last accepted ordinal. */
  readonly ordinal: Ordinal;
  /** Lamport time of the holder's last accepted event. */
  readonly lamport: Lamport;
}

export type StreamStatus = 'open' | 'parked' | 'compensating' | 'compensated' | 'completed' | 'failed';

/** The question of a parked workflow to a person. */
export interface Question {
  /** Id of the event that parked it. */
  readonly id: EventId;
  readonly code: string;
  readonly task: TaskId | null;
  /** The effect whose outcome is in question. */
  readonly key: EffectKey | null;
}

/** Builds on which a task failed that a stream remembers. At this many, only a person may retry the task. */
export const FAILED_BUILDS_MAX = 16;

/** The last task that failed for good. */
export interface FailedOn {
  readonly task: TaskId;
  /** Builds on which it failed, or on which a task failed that is still pending, in order. */
  readonly builds: readonly string[];
  /** The build on which a coordinator decided to retry; absent: none. */
  readonly next?: string | undefined;
}

/** The newest failure of a workflow that it has not got past. */
export interface Failure {
  readonly fingerprint: Fingerprint;
  readonly code: string;
  /** Empty: it is no step's. */
  readonly step: string;
  readonly task: TaskId | null;
}

/** Who requested something, and with which event; its payload says why. */
export interface Asking {
  readonly by: string;
  readonly event: EventId;
}

/** Crashes that a stream remembers; older ones are only counted. */
export const CRASH_TIMES_MAX = 32;
/** Silent holders that an effect names; of later ones it only says that there are some. */
export const SILENT_HOLDERS_MAX = 8;

/** Where the fold of a stream has stopped. */
export interface Unreadable {
  readonly offset: Offset;
  readonly type: string;
  readonly v: number;
  /** Why, as a code; absent: this process doesn't know its type or version. */
  readonly problem?: string | undefined;
  /** A person's decision about it: the next rebuild of the rows continues with it. */
  readonly judgement?: 'skip' | 'take' | undefined;
}

/** What a workflow's opening says for good; absent: no session, user or tags; no fork; the default priority, and no limits. */
export type OpeningFacts = Pick<Controls['WorkflowOpened'], 'session' | 'user' | 'tags' | 'fork' | 'dispatch'>;

/** Its spend is what its checkpoints have cost. */
export interface StreamState extends OpeningFacts, Spend {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  readonly generation: Generation;
  readonly definition: string;
  readonly version: number;
  readonly rules: number;
  readonly status: StreamStatus;
  /** The reason of the status, as a code; null for `open`, and for `completed` unless the workflow continued as new. */
  readonly reason: string | null;
  /** Set while the status is `parked`. */
  readonly question: Question | null;
  /** Set until the task is done or a person decides; absent: no task failed, or its build is unknown. */
  readonly failedOn?: FailedOn | undefined;
  /** Set until its task is done, or the workflow completes. */
  readonly failure?: Failure | undefined;
  /** A person's decision that the next holder carries out. `cancel` outlasts the questions that it leads to. */
  readonly ruling: 'compensate' | 'fail' | 'cancel' | null;
  /** Why it was cancelled, as a code; absent: it wasn't. */
  readonly cancel?: (Asking & { readonly code: string }) | undefined;
  /** Set while it is paused: no worker claims it. */
  readonly paused?: (Asking & { readonly atMs: number }) | undefined;
  /** The task of the parent that awaits it; absent: it has no parent. */
  readonly parent?: Parent | undefined;
  /** Set once the workflow has declared children. */
  readonly hasChildren?: true | undefined;
  /** The run that this one continues; absent: none. */
  readonly continues?: WorkflowId | undefined;
  /** What the earlier runs spent. */
  readonly spentBefore?: Spend | undefined;
  /** The next run, and what was spent before it. */
  readonly continued?: { readonly as: WorkflowId; readonly spent: Spend } | undefined;
  /** The timer that cancels it. */
  readonly deadline?: Retry | undefined;
  /** Whether the workflow runs with exactly its version. */
  readonly pinned: boolean;
  /** Whether the workflow is only observed: its agent runs elsewhere, and no worker claims it. */
  readonly shadow: boolean;
  readonly compensates: Compensates | null;
  /** What people added to its budget. */
  readonly raised?: Spend | undefined;
  /** The newest questions, newest last, and how often each was asked; absent: none. */
  readonly repeats?: readonly Repeat[] | undefined;
  /** The workflow that compensates this one, once that has begun. */
  readonly undo: WorkflowId | null;
  readonly position: Position;
  readonly lamport: Lamport;
  readonly openedAtMs: number;
  /** Time of the last accepted event. */
  readonly updatedAtMs: number;
  /** The newest checkpoint; before the first, sequence 0 and no id. */
  readonly head: { readonly sequence: Sequence; readonly checkpoint: CheckpointId | null; readonly atMs: number };
  /** Sequence of the newest checkpoint that holds all of belief; 0 is the opening. */
  readonly beliefSequence: Sequence;
  /** The epoch of the last claim. */
  readonly epoch: Epoch;
  readonly lease: Lease | null;
  /** A lease was revoked since the newest checkpoint: recovery has not checked the effects yet. */
  readonly isUnsettled: boolean;
  /** Set once it has committed a checkpoint after a lease was revoked. */
  readonly resumed?: true | undefined;
  /** Crashes of holders that ran nothing else, since its last progress, and when the last of them were noticed (oldest first). */
  readonly crashCount: number;
  readonly crashTimesMs: readonly number[];
  /**
   * The most workflows that its next holder may run beside it, since it may be what kills holders. Absent: none has died since its last progress.
   * Null: one has, which costs nothing, as most die of something else.
   */
  readonly besideMax?: number | null | undefined;
  /** The checkpoint from which the budget of steps counts. */
  readonly budgetFrom: Sequence;
  readonly frontier: Frontier;
  readonly signals: readonly UnconsumedSignal[];
  /** The last `INBOX_DEDUPE_MAX` inbox ids, oldest first. */
  readonly inbox: readonly EventId[];
  readonly lastAction: string;
  /** The event that this process can't read: nothing after it was folded for this stream. */
  readonly unreadable: Unreadable | null;
  /** An event of the stream was sealed: from then on a plain payload stops it. */
  readonly sealed?: true | undefined;
  /** The partition's generation when the stream closed; null while it is open. */
  readonly closedInGeneration: Generation | null;
}

export interface PartitionState {
  readonly partition: Partition;
  /** Next offset to fold. */
  readonly next: Offset;
  /** Generation of the newest workflow in this partition. */
  readonly generation: Generation;
  /** Open streams, and closed ones until another workflow opens here. */
  readonly streams: ReadonlyMap<WorkflowId, StreamState>;
}

export const emptyPartition = (partition: Partition, next: Offset): PartitionState => ({
  partition,
  next,
  generation: 0 as Generation,
  streams: new Map(),
});

export const isClosed = ({ status }: Pick<StreamState, 'status'>): boolean =>
  status === 'completed' || status === 'failed' || status === 'compensated';

/** Whether its effects are answered by what another workflow recorded, so that nothing leaves the process. */
export const isReplay = ({ fork }: Pick<StreamState, 'fork'>): boolean => fork?.effects === 'replay';

/** Whether the outcome of a call is unknown. */
export const isOpen = ({ status }: Pick<EffectState, 'status'>): boolean =>
  status === 'intended' || status === 'pending';

/** Whether nothing can be done before the confirmation comes or a timer fires. */
export const isAwaited = ({ pending }: EffectState): boolean => pending !== null && !pending.isDue;
