/**
 * Owns the contract of projections: everything in it is derived from the log and may be dropped at any moment (I6).
 * Rows hold the folded state exactly, so that a fold can go on from them, and the places of records for what those say.
 *
 * P1 Rows and the partition's next offset change in one transaction, and only from the offset the writer started at.
 * P2 A reader sees rows and the next offset of one snapshot.
 * P3 Before `ready`, no claim and no start is answered: after a loss, placements are rebuilt fully first.
 */

import type {
  CheckpointId,
  Dispatch,
  EffectKey,
  EffectKind,
  EffectState,
  Epoch,
  EventId,
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
import type { ApprovalStore } from './approval-store.ts';
import type { ChildStore } from './child-store.ts';
import type { ContextBatch, ContextStore } from './context-store.ts';
import type { HistoryStore } from './history-store.ts';
import type { MemoryRow, MemoryStore } from './memory-store.ts';
import type { Placed, PlacedWorkflow, Placement, PlacementRequest, PlacementRules } from './placement.ts';
import type { RecordPlace } from './record-place.ts';
import type { SearchStore } from './search-store.ts';
import type { DueTimer, KnownDispatches, LeaseRow, RangeRole, RunnableStream, StoreCounts } from './sweep-rows.ts';
import type { TierStore } from './tier-store.ts';
import type { TraceStore } from './trace-store.ts';

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

/** All changes of some partitions' events; one transaction. Lists may be empty. */
export interface ProjectionBatch {
  /** The making of the tables that the batch is for; absent: whichever they are. */
  readonly storeId?: string | undefined;
  readonly partitions: readonly PartitionAdvance[];
  readonly opened: readonly OpenedRow[];
  /** Newest state of each stream that changed. */
  readonly streams: readonly StreamRow[];
  /** Workflows that closed in this batch, with the payload of their last event. */
  readonly closed: readonly {
    readonly workflow: WorkflowId;
    readonly partition: Partition;
    readonly result: JsonText;
  }[];
  readonly tasksPut: readonly TaskRow[];
  readonly tasksGone: readonly { readonly workflow: WorkflowId; readonly task: TaskId }[];
  readonly checkpoints: readonly CheckpointRow<RecordPlace>[];
  readonly effects: readonly EffectRow<RecordPlace>[];
  readonly events: readonly EventRow<RecordPlace>[];
  readonly timersPut: readonly TimerRow[];
  readonly timersGone: readonly { readonly workflow: WorkflowId; readonly timer: string }[];
  readonly rejected: readonly RejectedRow[];
  /** What memory is told; absent: nothing. */
  readonly memories?: readonly MemoryRow[] | undefined;
  /** Absent where nothing of the batch brings any. */
  readonly context?: ContextBatch | undefined;
  /** Whose history is in segments alone: the batch has no rows of it, and its openings are stored as without rows. Absent: none. */
  readonly archived?: ReadonlySet<WorkflowId> | undefined;
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

export interface NewPartition {
  readonly partition: Partition;
  readonly start: Offset;
  readonly generation?: Generation;
  readonly rebuildTo: Offset;
}

/** Rows as an adapter stores them: what records say is in the log alone. */
export type RowStore = ProjectionStore<RecordPlace>;

export interface ProjectionStore<Said = JsonText>
  extends ContextStore,
    HistoryStore<Said>,
    MemoryStore,
    TierStore,
    TraceStore,
    SearchStore,
    ApprovalStore,
    ChildStore {
  readonly kind: 'postgres' | 'pglite';

  /**
   * Creates what is missing (database, tables), by numbered migrations under a lock. Harmless when repeated or
   * concurrent. Throws `ConfigError` (`store-newer`: made by a newer version; nothing was touched), `UnavailableError`.
   */
  ensure(): Promise<void>;
  /** Names this making of the tables; those rebuilt after a loss have another name. */
  storeId(): Promise<string>;
  /** False while placements are not fully rebuilt (P3). */
  ready(): Promise<boolean>;
  /**
   * Adds rows for partitions that have none. `start` is the first offset to be folded, and `generation` that of the partition
   * before it (default 0: nothing was); `rebuildTo` is the log's end now, up to which they must be folded before the store is
   * ready. Then marks the store ready if every partition has come that far. Adds nothing to another making of the
   * store than `incarnation`, where that is given: it was lost since.
   */
  addPartitions(partitions: readonly NewPartition[], storeId?: string): Promise<void>;
  markReady(): Promise<boolean>;

  // Projector
  /**
   * Shares the `RANGE_COUNT` ranges (partition modulo `RANGE_COUNT`) among the living owners: renews the caller's, takes
   * free or expired ones up to its fair share, gives up a surplus. Returns the caller's ranges. Each role shares them all.
   */
  shareRanges(owner: string, ttlMs: number, role?: RangeRole): Promise<readonly number[]>;
  releaseRanges(owner: string): Promise<void>;
  /** Next offset of the given partitions, or of all. */
  positions(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Offset>>;
  loadPartitions(partitions: readonly Partition[]): Promise<readonly FoldedPartition[]>;
  /** One transaction (P1). Throws `ConflictError` (`projection-moved`) and writes nothing when any partition's `from` is not its row's next, or the tables were rebuilt. */
  apply(batch: ProjectionBatch): Promise<void>;

  // Claims
  /** Snapshots of those that exist; none for unknown ones. Throws `UnavailableError` (`store-rebuilding`) before `ready`. */
  loadStreams(workflows: readonly WorkflowId[]): Promise<readonly StreamSnapshot<Said>[]>;

  // Placement
  /**
   * Places workflows that have no placement yet; answers the existing placement for those that have. Leaves out those
   * for which no partition is free: the caller grows the pool, or asks for `mode: 'shared'`. Of workflows of one session the
   * first is placed, and the others once that has closed. Rules hold exactly, whoever else places. One transaction. Throws
   * `UnavailableError` (`store-rebuilding`) before `ready`.
   */
  place(requests: readonly PlacementRequest[], rules?: PlacementRules): Promise<readonly Placed[]>;
  /** Undefined: no workflow of this id was ever started. */
  placed(workflow: WorkflowId): Promise<PlacedWorkflow | undefined>;
  /**
   * Placements whose opening the fold hasn't accepted, placed at least `ageMs` ago, by generation. Those whose generation
   * the fold has passed get their partition's next one first: their old opening would be rejected for ever.
   */
  unappended(ageMs: number, limit: number): Promise<readonly Placement[]>;

  // Coordination
  /** Runnable streams after the given id, by id; for the sweep. How those are dispatched that are `known` isn't read again. */
  runnable(after: WorkflowId | null, limit: number, known?: KnownDispatches): Promise<readonly RunnableStream[]>;
  /** Distinct holders of live leases, with what they hold. */
  leases(): Promise<readonly LeaseRow[]>;
  /** By when they are due, workflow and name; those after the given one. */
  dueTimers(nowMs: number, limit: number, after?: DueTimer): Promise<readonly DueTimer[]>;

  // Reads for people and steps
  /** Ids of workflows that aren't closed, after the given one, by id; without the system's own. */
  openWorkflows(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]>;
  workflow(workflow: WorkflowId): Promise<WorkflowSummary | undefined>;
  /** Newest first; those opened in the same millisecond by id. */
  workflows(query: WorkflowQuery): Promise<readonly WorkflowSummary[]>;
  counts(): Promise<StoreCounts>;

  close(): Promise<void>;
}
