/** Owns the rows that follow from the log, and what is read of them whole: their shapes alone. */

import type {
  CheckpointId,
  Dispatch,
  EffectKey,
  EffectKind,
  EffectState,
  Epoch,
  EventId,
  FailedOn,
  Fork,
  Generation,
  HolderId,
  Lamport,
  Offset,
  Partition,
  Position,
  Question,
  Sequence,
  Sha256,
  StreamStatus,
  TaskId,
  TenantId,
  WorkflowId,
} from '@tidemark/core';

/** JSON as text, exactly as written; never parsed by the store. Holds no NUL character. */
export type JsonText = string;

// Rows that are about one record have `Said` for what that says: its text for whoever reads them, its place as they are stored.

// --- What the projector writes -------------------------------------------------------------------------------------

export interface PartitionAdvance {
  readonly partition: Partition;
  /** The offset the fold started at; the write is refused when the row says otherwise. */
  readonly from: Offset;
  readonly to: Offset;
  readonly generation: Generation;
}

export interface StreamRow {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly partition: Partition;
  readonly generation: Generation;
  readonly definition: string;
  readonly version: number;
  /** Runs with exactly this version. */
  readonly pinned: boolean;
  readonly status: StreamStatus;
  readonly reason: string | null;
  readonly position: Position;
  readonly sequence: Sequence;
  readonly checkpoint: CheckpointId | null;
  readonly beliefSequence: Sequence;
  readonly epoch: Epoch;
  /** Null when no lease is live. */
  readonly holder: HolderId | null;
  readonly lamport: Lamport;
  readonly openedAtMs: number;
  readonly updatedAtMs: number;
  readonly tokens: number;
  readonly costMicros: number;
  readonly lastAction: string;
  /** Open, without a lease, and with an unblocked task. */
  readonly runnable: boolean;
  readonly pendingCount: number;
  readonly closedInGeneration: Generation | null;
  /** The session that it is a part of, whose it is, and by which tags people find it; absent: none. */
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Absent: it began by itself. */
  readonly fork?: Fork | undefined;
  /** Absent: the default priority, and no limits. */
  readonly dispatch?: Dispatch | undefined;
  /** The stream's state without its tasks, as core serialises it. */
  readonly state: JsonText;
}

/** The opening of a workflow; also its placement, in case Postgres was lost. */
export interface OpenedRow {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly partition: Partition;
  readonly generation: Generation;
  readonly session: string | null;
  readonly event: EventId;
}

export interface TaskRow {
  readonly workflow: WorkflowId;
  readonly task: TaskId;
  /** Order of creation. */
  readonly rank: number;
  readonly step: string;
  readonly unblocked: boolean;
  /** The inbox event that fulfilled its condition; its payload belongs to the task's input. */
  readonly cause: EventId | null;
  /** The task's state, as core serialises it. */
  readonly state: JsonText;
}

/** Sequence 0 is the opening: its payload holds input, first belief and first tasks' inputs. */
export interface CheckpointRow<Said = JsonText> {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  readonly checkpoint: CheckpointId | null;
  readonly parent: CheckpointId | null;
  readonly task: TaskId | null;
  readonly step: string | null;
  readonly stepVersion: number;
  readonly inputDigest: Sha256;
  readonly belief: 'none' | 'delta' | 'snapshot';
  readonly tokens: number;
  readonly costMicros: number;
  readonly lastAction: string;
  /** The earlier checkpoint that this one corrects. */
  readonly supersedes: Sequence | null;
  readonly epoch: Epoch;
  readonly holder: HolderId;
  readonly position: Position;
  readonly offset: Offset;
  readonly lamport: Lamport;
  readonly atMs: number;
  readonly payload: Said;
}

export interface EffectRow<Said = JsonText> {
  readonly workflow: WorkflowId;
  readonly key: EffectKey;
  readonly task: TaskId;
  readonly operation: string;
  readonly kind: EffectKind;
  readonly status: EffectState['status'];
  readonly requestDigest: Sha256;
  readonly responseDigest: Sha256 | null;
  readonly position: Position;
  readonly atMs: number;
  /** Of the newest event about it: resolution, confirmation, decision, or the intention while there is none. */
  readonly payload: Said;
  /** Of its intention; null where none was written (pure ones), or none in this batch: what the row has then stays. */
  readonly request: Said | null;
}

/** Inbox payloads (signals) and failures, by position: what else a reader of the history wants. */
export interface EventRow<Said = JsonText> {
  readonly workflow: WorkflowId;
  readonly position: Position;
  readonly event: EventId;
  readonly type: string;
  readonly epoch: Epoch;
  readonly holder: HolderId;
  readonly lamport: Lamport;
  readonly offset: Offset;
  readonly atMs: number;
  readonly control: JsonText;
  readonly payload: Said;
}

export interface TimerRow {
  readonly workflow: WorkflowId;
  readonly timer: string;
  readonly partition: Partition;
  readonly dueAtMs: number;
}

/** A record that changed nothing, kept for audit. */
export interface RejectedRow {
  readonly partition: Partition;
  readonly offset: Offset;
  readonly workflow: string | null;
  readonly type: string | null;
  readonly reason: string;
  /** What there is to say about it, at most 2,000 characters; never the payload. */
  readonly evidence: string;
  readonly atMs: number;
}

// --- What folds go on from -----------------------------------------------------------------------------------------

export interface FoldedStream {
  readonly state: JsonText;
  readonly tasks: readonly JsonText[];
}

export interface FoldedPartition {
  readonly partition: Partition;
  readonly next: Offset;
  readonly generation: Generation;
  /** Open streams, and those that closed since the last opening. */
  readonly streams: readonly FoldedStream[];
}

/** All that a worker needs to go on with a stream (P2). */
export interface StreamSnapshot<Said = JsonText> extends FoldedStream {
  readonly workflow: WorkflowId;
  readonly partition: Partition;
  /** The partition's next offset in the same snapshot. */
  readonly next: Offset;
  /** Payloads of the checkpoints from `beliefSequence` on, of those that added a pending task, and of the opening; by sequence. */
  readonly checkpoints: readonly {
    readonly sequence: Sequence;
    readonly stepVersion: number;
    readonly payload: Said;
  }[];
  /** Journals of pending tasks, by position. */
  readonly effects: readonly {
    readonly key: EffectKey;
    readonly status: EffectState['status'];
    readonly payload: Said;
  }[];
  /** Payloads of inbox events that fulfilled a condition of a pending task, and of signals that nobody has waited for yet. */
  readonly causes: readonly { readonly event: EventId; readonly payload: Said }[];
}

// --- Reads -----------------------------------------------------------------------------------------------------------

/** What is told of a workflow in lists. */
export type WorkflowListing = Omit<StreamRow, 'state'>;

export interface WorkflowSummary extends WorkflowListing {
  /** Payload of the closing event; null while open. */
  readonly result: JsonText | null;
  /** What it asks a person; null unless parked. */
  readonly question: Question | null;
  /** Of a parked one whose task failed for good: where it did. */
  readonly failedOn?: FailedOn | undefined;
}

export interface WorkflowQuery {
  readonly tenant?: TenantId;
  /** Absent: all but the system's own, whose names begin with `tidemark.`. */
  readonly definition?: string;
  /** Schedules alone, of whichever definitions. */
  readonly schedules?: true;
  readonly status?: StreamStatus;
  /** Why it is in that status: `budget_exceeded`. */
  readonly reason?: string;
  /** Goes on after this one. */
  readonly after?: Pick<StreamRow, 'openedAtMs' | 'workflow'>;
  readonly limit: number;
}
