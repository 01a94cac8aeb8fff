/**
 * Owns the shapes of folded state: a stream (one workflow) and a partition. Everything here follows from `control` alone;
 * belief, inputs and responses are content and live in payloads. Immutable: the fold makes new values.
 */

import type { Spend, UnconsumedSignal } from './continues.ts';
import type { Compensates, Condition, Dispatch, EffectKind, Fork, Parent, Retry, Sha256 } from './event.ts';
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
import { TaskList } from './task-list.ts';

/** Ids of inbox events that a stream remembers to reject a repetition; older ones are forgotten. */
export const INBOX_DEDUPE_MAX = 256;
/** Signals that nobody waits for yet, at most; further ones are rejected. */
export const SIGNALS_MAX = 1_024;
/** Bytes of their values together, as JSON: whoever claims the workflow reads all of them. One alone is taken, however large. */
export const SIGNALS_MAX_BYTES = 8 * 1_024 * 1_024;
/** Tolerance, in milliseconds, of a checkpoint's time before its parent's. */
export const CLOCK_REGRESSION_MAX_MS = 1_000;

export interface EffectState {
  readonly key: EffectKey;
  readonly operation: string;
  readonly kind: EffectKind;
  readonly status: 'intended' | 'pending' | 'done' | 'failed';
  readonly requestDigest: Sha256;
  readonly responseDigest: Sha256 | null;
  /** Of its newest intention: how long a call that nobody knows of may still be under way, in milliseconds. */
  readonly timeoutMs: number;
  /** Confirmed as not done, and the step hasn't been told yet: an attempt of its that fails ends that. */
  readonly isUntold: boolean;
  /** Recorded as done by a holder that has lost its lease since: to be held against the outside before the task counts. */
  readonly isSuspect: boolean;
  /** Set while its confirmation is outstanding. */
  readonly pending: PendingConfirmation | null;
  /** Of a model call: what is reserved for it, and what it cost once that is known. */
  readonly spend?: Spend | undefined;
  /** What earlier calls of the key cost that came to nothing. */
  readonly wasted?: Spend | undefined;
}

/** A question that was asked again and again. */
export interface Repeat {
  readonly question: Sha256;
  readonly count: number;
}

/** Different questions that a stream counts, at most: the ones asked last. */
export const REPEATS_MAX = 32;

export interface PendingConfirmation {
  /** The event that began the wait; those that only go on waiting don't change it. */
  readonly id: EventId;
  readonly token: string;
  /** The timer of the next probe; null: none, or it has fired. */
  readonly probe: Retry | null;
  /** The timer after which a person is asked; null once it has fired. */
  readonly deadline: Retry | null;
  /** One of the timers has fired: the task may run, to ask the probe. */
  readonly isDue: boolean;
}

/** What fulfilled a task's condition. */
export interface Cause {
  readonly kind: 'signal' | 'timer' | 'approval' | 'child';
  readonly name: string;
  /** The event that brought it; its payload holds the value. */
  readonly event: EventId;
}

export interface TaskState {
  readonly id: TaskId;
  readonly step: string;
  /** Named tasks that are still to be done. */
  readonly after: readonly TaskId[];
  /** For a task declared after `all`: how many of those are still to be done. */
  readonly barrierCount: number;
  /** Conditions of which one must still be fulfilled; empty: none. */
  readonly when: readonly Condition[];
  readonly cause: Cause | null;
  /** Failures so far. */
  readonly failureCount: number;
  /** Code of the last failure, and how many in a row had it. */
  readonly failureCode: string | null;
  readonly sameFailureCount: number;
  /** Set while a failed task waits for its timer. */
  readonly retry: Retry | null;
  /** The checkpoint that was reserved for it before an effect, and is committed with it. */
  readonly reserved: CheckpointId | null;
  /** Its journal, in order of intention. */
  readonly effects: readonly EffectState[];
}

export interface Frontier {
  /** Pending tasks by order of creation. */
  readonly tasks: TaskList<TaskState>;
  /** For each pending task that others name in `after`: those others. */
  readonly waiting: TaskList<{ readonly id: TaskId; readonly dependents: readonly TaskId[] }>;
  /** Pending tasks that were declared after `all`, by order of creation. */
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

/** What a parked workflow asks a person. */
export interface Question {
  /** Id of the event that parked it. */
  readonly id: EventId;
  readonly code: string;
  readonly task: TaskId | null;
  /** The effect whose outcome is in question. */
  readonly key: EffectKey | null;
}

/** Builds on which a task failed that a stream remembers, at most: where there are as many, only a person lets the task go on. */
export const FAILED_BUILDS_MAX = 16;

/** The task that failed for good last. */
export interface FailedOn {
  readonly task: TaskId;
  /** Builds on which it did, or a task that failed before it and was not done then, in order. */
  readonly builds: readonly string[];
  /** The build on which it runs again, as a coordinator decided; absent: nobody has. */
  readonly next?: string | undefined;
}

/** Who asked for something and with which event, whose payload says why. */
export interface Asking {
  readonly by: string;
  readonly event: EventId;
}

/** Crashes that a stream remembers; older ones are only counted. */
export const CRASH_TIMES_MAX = 8;

/** Where a stream stands, since it can't be folded further. */
export interface Unreadable {
  readonly offset: Offset;
  readonly type: string;
  readonly v: number;
  /** Why, as a code; absent: its type or version is unknown here. */
  readonly problem?: string | undefined;
  /** What a person decided: whoever makes the rows goes on from there. */
  readonly judgement?: 'skip' | 'take' | undefined;
}

export interface StreamState {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  readonly generation: Generation;
  readonly definition: string;
  readonly version: number;
  readonly rules: number;
  readonly status: StreamStatus;
  /** Why, where the status is not `open` or `completed`. */
  readonly reason: string | null;
  /** Set while the status is `parked`. */
  readonly question: Question | null;
  /** Set until its task is done or a person decides about it; absent: none failed, or nobody knows on which build. */
  readonly failedOn?: FailedOn | undefined;
  /** What a person decided and the next holder is to do. `cancel` outlasts the questions that it leads to. */
  readonly ruling: 'compensate' | 'fail' | 'cancel' | null;
  /** Why it was cancelled, as a code; absent: it wasn't. */
  readonly cancel?: (Asking & { readonly code: string }) | undefined;
  /** Nobody claims it while it is paused. */
  readonly paused?: (Asking & { readonly atMs: number }) | undefined;
  /** The task that waits for it; absent: none. */
  readonly parent?: Parent | undefined;
  /** It has had children. */
  readonly hasChildren?: true | undefined;
  /** The workflow that it goes on for; absent: none. */
  readonly continues?: WorkflowId | undefined;
  /** What the histories before have spent. */
  readonly spentBefore?: Spend | undefined;
  /** The workflow that goes on for it, and what was spent up to there. */
  readonly continued?: { readonly as: WorkflowId; readonly spent: Spend } | undefined;
  /** The timer that cancels it. */
  readonly deadline?: Retry | undefined;
  /** Runs with exactly its version. */
  readonly pinned: boolean;
  /** Its agent runs elsewhere: no worker claims it. */
  readonly shadow: boolean;
  readonly compensates: Compensates | null;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Absent: it began by itself. */
  readonly fork?: Fork | undefined;
  /** Absent: the default priority, and no limits. */
  readonly dispatch?: Dispatch | undefined;
  /** What people added to its budget. */
  readonly raised?: Spend | undefined;
  /** The questions asked last, newest last, and how often each was; absent: none. */
  readonly repeats?: readonly Repeat[] | undefined;
  /** The workflow that undoes this one, once that was begun: at most one. */
  readonly undo: WorkflowId | null;
  readonly position: Position;
  readonly lamport: Lamport;
  readonly openedAtMs: number;
  /** Time of the last accepted event. */
  readonly updatedAtMs: number;
  /** The newest checkpoint: sequence 0 and no id before the first. */
  readonly head: { readonly sequence: Sequence; readonly checkpoint: CheckpointId | null; readonly atMs: number };
  /** Sequence of the newest checkpoint that holds all of belief; 0 is the opening. */
  readonly beliefSequence: Sequence;
  /** Last epoch that was claimed. */
  readonly epoch: Epoch;
  readonly lease: Lease | null;
  /** A lease was taken away since the newest checkpoint: that is yet to be held against the outside. */
  readonly isUnsettled: boolean;
  /** Deaths of holders since the newest checkpoint, and when the last of them were noticed (oldest first). */
  readonly crashCount: number;
  readonly crashTimesMs: readonly number[];
  /** The checkpoint from which the budget of steps counts. */
  readonly budgetFrom: Sequence;
  readonly frontier: Frontier;
  readonly signals: readonly UnconsumedSignal[];
  /** The last `INBOX_DEDUPE_MAX` inbox ids, oldest first. */
  readonly inbox: readonly EventId[];
  readonly tokens: number;
  readonly costMicros: number;
  readonly lastAction: string;
  /** Where this process met an event that it can't read: nothing after it was folded for this stream. */
  readonly unreadable: Unreadable | null;
  /** An event of it was sealed: none whose payload is plain is taken after that. */
  readonly sealed?: true | undefined;
  /** The partition's generation when the stream closed; null while it is open. */
  readonly closedInGeneration: Generation | null;
}

export interface PartitionState {
  readonly partition: Partition;
  /** Next offset to fold. */
  readonly next: Offset;
  /** Generation of the newest workflow opened here. */
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

/** Whether nothing of it ever leaves the process: its effects are answered by what another workflow recorded. */
export const isReplay = ({ fork }: Pick<StreamState, 'fork'>): boolean => fork?.effects === 'replay';

/** Whether the outcome of a call is yet to be known. */
export const isOpen = ({ status }: Pick<EffectState, 'status'>): boolean =>
  status === 'intended' || status === 'pending';

/** Whether nothing can be done about it before its confirmation comes, or a timer fires. */
export const isAwaited = ({ pending }: EffectState): boolean => pending !== null && !pending.isDue;
