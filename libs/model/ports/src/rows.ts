/** Owns the shapes of the rows that follow from the log, and of what is read from them as a whole. */

import type {
  CheckpointId,
  EffectKey,
  EffectKind,
  EffectState,
  Epoch,
  EventId,
  FailedOn,
  Generation,
  HolderId,
  Lamport,
  Offset,
  OpeningFacts,
  Partition,
  Position,
  Question,
  Sequence,
  Sha256,
  Spend,
  StreamStatus,
  TaskId,
  TenantId,
  WorkflowId,
} from '@tidemark/core';

/** JSON as text, exactly as written; the store never parses it. Contains no NUL character. */
export type JsonText = string;

// `Payload` is the type of a record's payload in rows: its text for readers, its place as they are stored.

// --- What the projector writes -------------------------------------------------------------------------------------

export interface PartitionAdvance {
  readonly partition: Partition;
  /** The offset at which the fold started; the write is refused when the row has another. */
  readonly from: Offset;
  readonly to: Offset;
  readonly generation: Generation;
}

export interface StreamRow extends OpeningFacts, Spend {
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
  readonly lastAction: string;
  /** Open, without a lease, and with an unblocked task. */
  readonly runnable: boolean;
  readonly pendingCount: number;
  readonly closedInGeneration: Generation | null;
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
  /** The inbox event that fulfilled its condition; its payload is part of the task's input. */
  readonly cause: EventId | null;
  /** The task's state, as core serialises it. */
  readonly state: JsonText;
}

/** Sequence 0 is the opening: its payload holds input, first belief and the inputs of the first tasks. */
export interface CheckpointRow<Payload = JsonText> extends Spend {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  readonly checkpoint: CheckpointId | null;
  readonly parent: CheckpointId | null;
  readonly task: TaskId | null;
  readonly step: string | null;
  readonly stepVersion: number;
  readonly inputDigest: Sha256;
  readonly belief: 'none' | 'delta' | 'snapshot';
  readonly lastAction: string;
  /** The earlier checkpoint that this one corrects. */
  readonly supersedes: Sequence | null;
  readonly epoch: Epoch;
  readonly holder: HolderId;
  readonly position: Position;
  readonly offset: Offset;
  readonly lamport: Lamport;
  readonly atMs: number;
  readonly payload: Payload;
}

export interface EffectRow<Payload = JsonText> {
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
  /** Payload of the newest event about it: resolution, confirmation or decision; before any of these, the intention. */
  readonly payload: Payload;
  /** Payload of its intention. Null when there is none (pure effects), or none in this batch: the row then keeps what it has. */
  readonly request: Payload | null;
}

/** Inbox payloads (signals) and failures, by position: the remaining events that readers of the history want. */
export interface EventRow<Payload = JsonText> {
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
  readonly payload: Payload;
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
  /** Details for people, at most 2,000 characters; never the payload. */
  readonly evidence: string;
  readonly atMs: number;
}

// --- What folds resume from ----------------------------------------------------------------------------------------

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

/** All that a worker needs to resume a stream (P2). */
export interface StreamSnapshot<Payload = JsonText> extends FoldedStream {
  readonly workflow: WorkflowId;
  readonly partition: Partition;
  /** The partition's next offset in the same snapshot. */
  readonly next: Offset;
  /** Payloads, by sequence, of the checkpoints from `beliefSequence` on, of those that added a pending task, and of the opening. */
  readonly checkpoints: readonly {
    readonly sequence: Sequence;
    readonly stepVersion: number;
    readonly payload: Payload;
  }[];
  /** Journals of pending tasks, by position. */
  readonly effects: readonly {
    readonly key: EffectKey;
    readonly status: EffectState['status'];
    readonly payload: Payload;
  }[];
  /** Payloads of inbox events that fulfilled a condition of a pending task, and of stored signals. */
  readonly causes: readonly { readonly event: EventId; readonly payload: Payload }[];
}

// --- Reads -----------------------------------------------------------------------------------------------------------

/** A workflow as lists show it. */
export type WorkflowListing = Omit<StreamRow, 'state'>;

export interface WorkflowSummary extends WorkflowListing {
  /** Payload of the closing event; null while open. */
  readonly result: JsonText | null;
  /** Its question to a person; null unless parked. */
  readonly question: Question | null;
  /** Set for a parked workflow whose task failed for good on known builds. */
  readonly failedOn?: FailedOn | undefined;
}

export interface WorkflowQuery {
  readonly tenant?: TenantId;
  /** Absent: all but the system's own, whose names begin with `tidemark.`. */
  readonly definition?: string;
  /** Only schedules, of any definition. */
  readonly schedules?: true;
  readonly status?: StreamStatus;
  /** The reason of its status: `budget_exceeded`. */
  readonly reason?: string;
  /** Starts after this one. */
  readonly after?: Pick<StreamRow, 'openedAtMs' | 'workflow'>;
  readonly limit: number;
}
