/**
 * Owns the contract of projections: everything in them is derived from the log and may be dropped at any moment (I6). Rows hold the folded
 * state exactly, so that a fold can resume from them. They name records instead of repeating what those say.
 *
 * P1 Rows and the partition's next offset change in one transaction, and only from the offset at which the writer started.
 * P2 A reader sees rows and the next offset of one snapshot.
 * P3 Before `ready`, no claim and no start is answered: after a loss, placements are fully rebuilt first.
 */

import type { Generation, Offset, Partition, WorkflowId } from '@tidemark/core';
import type { ApprovalStore } from './approval-store.ts';
import type { ChildStore } from './child-store.ts';
import type { ContextStore } from './context-store.ts';
import type { HistoryStore } from './history-store.ts';
import type { MemoryStore } from './memory-store.ts';
import type { PlacementStore } from './placement.ts';
import type { ProjectionBatch } from './projection-batch.ts';
import type { RecordPlace } from './record-place.ts';
import type { FoldedPartition, JsonText, StreamSnapshot } from './rows.ts';
import type { SearchStore, WorkflowStore } from './search-store.ts';
import type { RangeRole, SweepStore } from './sweep-rows.ts';
import type { TierStore } from './tier-store.ts';
import type { TraceStore } from './trace-store.ts';

export interface NewPartition {
  readonly partition: Partition;
  readonly start: Offset;
  readonly generation?: Generation;
  readonly rebuildTo: Offset;
}

/** Creates the tables, and knows whether they are complete. */
export interface ReadinessStore {
  readonly kind: 'postgres' | 'pglite';

  /**
   * Creates what is missing (database, tables), by numbered migrations under a lock. Harmless when repeated or concurrent. Throws
   * `ConfigError` (`store-newer`: a newer version created the tables; nothing was changed), `UnavailableError`.
   */
  ensure(): Promise<void>;
  /** Identifies the tables; tables that are rebuilt after a loss get another id. */
  storeId(): Promise<string>;
  /** False while placements are not fully rebuilt (P3). */
  ready(): Promise<boolean>;
  /**
   * Adds rows for partitions that have none. `start` is the first offset to fold; `generation` is the partition's generation before it
   * (default 0: no workflow). `rebuildTo` is the log's end now: the store isn't ready before everything up to there is folded. Then marks
   * the store ready if every partition has come that far. Adds nothing when `storeId` is given and the tables have another id: they were
   * lost since.
   */
  addPartitions(partitions: readonly NewPartition[], storeId?: string): Promise<void>;
  markReady(): Promise<boolean>;

  close(): Promise<void>;
}

/** What projectors share, resume from and write. */
export interface FoldStore {
  /**
   * Shares the `RANGE_COUNT` ranges (partition modulo `RANGE_COUNT`) among the living owners: renews the caller's, takes free or expired
   * ones up to its fair share, gives up a surplus. Returns the caller's ranges. Each role shares them separately.
   */
  shareRanges(owner: string, ttlMs: number, role?: RangeRole): Promise<readonly number[]>;
  releaseRanges(owner: string): Promise<void>;
  /** Next offset of the given partitions, or of all. */
  positions(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Offset>>;
  loadPartitions(partitions: readonly Partition[]): Promise<readonly FoldedPartition[]>;
  /**
   * One transaction (P1). Throws `ConflictError` (`projection-moved`) and writes nothing when any partition's `from` is not its row's next,
   * or the tables were rebuilt.
   */
  apply(batch: ProjectionBatch): Promise<void>;
}

/** False: the state and its tasks are needed alone, so no record is read, and each payload is empty. */
export interface SnapshotParts {
  readonly payloads: false;
}

/** What workers read to resume workflows. */
export interface ClaimStore<Payload = JsonText> {
  /** Snapshots of the workflows that exist. Throws `UnavailableError` (`store-rebuilding`) before `ready`. */
  loadStreams(workflows: readonly WorkflowId[], of?: SnapshotParts): Promise<readonly StreamSnapshot<Payload>[]>;
}

/** Rows as an adapter stores them: the content of records is in the log alone. */
export type RowStore = ProjectionStore<RecordPlace>;

/** The whole store. Code that uses a part declares that part. */
export interface ProjectionStore<Payload = JsonText>
  extends ReadinessStore,
    FoldStore,
    ClaimStore<Payload>,
    PlacementStore,
    SweepStore,
    WorkflowStore,
    ContextStore,
    HistoryStore<Payload>,
    MemoryStore,
    TierStore,
    TraceStore,
    SearchStore,
    ApprovalStore,
    ChildStore {}
