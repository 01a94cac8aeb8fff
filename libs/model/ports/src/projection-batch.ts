/** Owns what one projection writes: all changes that the events of some partitions make, in one transaction. */

import type { Partition, TaskId, WorkflowId } from '@tidemark/core';
import type { ContextBatch } from './context-store.ts';
import type { MemoryRow } from './memory-store.ts';
import type { RecordPlace } from './record-place.ts';
import type {
  CheckpointRow,
  EffectRow,
  EventRow,
  JsonText,
  OpenedRow,
  PartitionAdvance,
  RejectedRow,
  StreamRow,
  TaskRow,
  TimerRow,
} from './rows.ts';

/** All changes by events of some partitions; one transaction. Lists may be empty. */
export interface ProjectionBatch {
  /** The identity of the tables that the batch is for; absent: any. */
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
  /** Writes to long-term memory; absent: none. */
  readonly memories?: readonly MemoryRow[] | undefined;
  /** Absent where nothing in the batch has context. */
  readonly context?: ContextBatch | undefined;
  /** Workflows whose history is in segments alone: the batch has no rows of it, and their openings are stored as such. Absent: none. */
  readonly archived?: ReadonlySet<WorkflowId> | undefined;
}
