/**
 * Owns the contract of what the store knows of archived history: how far each partition may be archived, which segments there are, and
 * whether a workflow's rows of history are here or only in segments. Derived like every row: the manifests beside the segments say the
 * same, and restore it.
 */

import type { Offset, Partition, Sha256, TenantId, WorkflowId } from '@tidemark/core';
import type { ProjectionBatch } from './projection-batch.ts';

/** How far a partition may be archived and trimmed (I7), as its rows say. */
export interface PartitionFloor {
  readonly partition: Partition;
  /** The projector's next offset. */
  readonly next: Offset;
  /**
   * The least of `next`, the openings of workflows that closed within the hot window, and the newest whole belief of each open one: nothing
   * before it is needed to resume.
   */
  readonly floor: Offset;
}

/** Where a segment is read: at once (`warm`), after a recall (`cold`), or nowhere any more (`deleted`). */
export type SegmentTier = 'warm' | 'cold' | 'deleted';

/** A workflow's part in a segment. */
export interface SegmentWorkflow {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly eventCount: number;
  /** Bytes of its records as the log held them. */
  readonly rawBytes: number;
  /** The segment has its opening; it has its end. */
  readonly opens: boolean;
  readonly closes: boolean;
}

/** A workflow, and the partition of its stream. */
export interface StreamPlace {
  readonly workflow: WorkflowId;
  readonly partition: Partition;
}

/** The stretch `[from, to)` of a partition's log, archived. */
export interface SegmentRow {
  readonly partition: Partition;
  readonly from: Offset;
  readonly to: Offset;
  /** Name of the object that holds it, and the object's SHA-256. */
  readonly object: string;
  readonly digest: Sha256;
  readonly bytes: number;
  /** Bytes of the records as the log had them. */
  readonly rawBytes: number;
  readonly eventCount: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly writtenAtMs: number;
  readonly tier: SegmentTier;
  /** The segment was trimmed, and the rows of history of the workflows that end in it were deleted. */
  readonly rowsDropped: boolean;
  readonly workflows: readonly SegmentWorkflow[];
}

export interface SegmentQuery {
  readonly partition?: Partition;
  readonly workflow?: WorkflowId;
  readonly tenant?: TenantId;
  readonly rowsDropped?: boolean;
  readonly tier?: SegmentTier;
  /** Written before then, with all last events before then too. */
  readonly beforeMs?: number;
  /** Starts after this one. */
  readonly after?: Pick<SegmentRow, 'partition' | 'from'>;
  readonly limit: number;
}

/** How much storage the history of a tenant or a workflow takes. */
export interface StorageUse {
  readonly name: string;
  readonly workflowCount: number;
  /** Bytes of its payloads, in rows and in the records that rows name. */
  readonly hotBytes: number;
  readonly archivedEventCount: number;
  /** Bytes of its archived records as the log held them, and its share of the segments that hold them. */
  readonly archivedRawBytes: number;
  readonly archivedBytes: number;
  /** Set for a workflow that is a fork: its base. */
  readonly forkOf?: WorkflowId | undefined;
}

/** The index of segments. */
export interface SegmentStore {
  /** A segment that is already known stays as it is. */
  recordSegments(segments: readonly SegmentRow[]): Promise<void>;
  setTier(segment: Pick<SegmentRow, 'partition' | 'from'>, tier: SegmentTier): Promise<void>;
  /** Events in recorded segments of the partition that end at or before `to`: equal to `to` when none is missing. */
  recordedEvents(partition: Partition, to: Offset): Promise<number>;
  /** Tenants of the workflows in segments that aren't deleted. */
  segmentTenants(): Promise<readonly TenantId[]>;
  /** Forks of the workflow whose own history isn't deleted, by id: they share its history, so it must stay. */
  forksOf(workflow: WorkflowId, limit: number): Promise<readonly WorkflowId[]>;
  /** Whether all of the segment's workflows ended before then, and no fork needs any of them. */
  isPast(segment: Pick<SegmentRow, 'partition' | 'from'>, beforeMs: number): Promise<boolean>;
  /** By partition and offset. */
  segments(query: SegmentQuery): Promise<readonly SegmentRow[]>;
}

/** Rows of history that may be dropped and restored from segments. */
export interface ColdRowStore {
  /**
   * Of all partitions. `hotBeforeMs`: workflows that closed later than that stay. `stateless`: definitions whose open workflows resume
   * without their history, because their rows hold everything.
   */
  floors(hotBeforeMs: number, stateless: readonly string[]): Promise<readonly PartitionFloor[]>;
  /**
   * Deletes rows of history (checkpoints, effects, events, context) of the given workflows that are closed, and rejected records of the
   * partition before `to`. The workflow's own rows with its state, times and costs stay. Then notes that the segment's rows are dropped.
   */
  dropRows(segment: Pick<SegmentRow, 'partition' | 'from' | 'to'>, workflows: readonly WorkflowId[]): Promise<void>;
  /** Those whose rows of history are in segments only. */
  withoutRows(workflows: readonly WorkflowId[]): Promise<readonly WorkflowId[]>;
  /** Those whose end is in a recorded segment of that partition. */
  endedInSegments(streams: readonly StreamPlace[]): Promise<readonly StreamPlace[]>;
  /** Restores the history of workflows from a batch that holds all of it. Existing rows stay. */
  restoreRows(batch: ProjectionBatch, workflows: readonly WorkflowId[], atMs: number): Promise<void>;
  /** Drops the rows of workflows that were restored before then. Returns the number of such workflows, at most `limit`. */
  dropRestored(beforeMs: number, limit: number): Promise<number>;
}

/** How much storage history takes. */
export interface StorageStore {
  /** The store's own clock, to compare others with. */
  nowMs(): Promise<number>;
  /** The largest first. Reads all rows of history: for people, not for a loop. Only of that tenant where one is given. */
  storage(by: 'tenant' | 'workflow', limit: number, tenant?: TenantId | null): Promise<readonly StorageUse[]>;
}

export interface TierStore extends SegmentStore, ColdRowStore, StorageStore {}
