/**
 * Owns the contract of what the store knows of archived history: how far each partition may be archived, which segments there
 * are, and whether a workflow's rows of history are here or only in segments. Derived like every row: segments' manifests
 * beside them say the same, and bring it back.
 */

import type { Offset, Partition, Sha256, TenantId, WorkflowId } from '@tidemark/core';
import type { ProjectionBatch } from './projection-batch.ts';

/** How far a partition may be archived and trimmed (I7), as its rows say. */
export interface PartitionFloor {
  readonly partition: Partition;
  /** The projector's next offset. */
  readonly next: Offset;
  /**
   * The least of `next`, the openings of workflows that closed within the hot window, and the newest whole belief of those that are
   * open: nothing before it is needed to go on.
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
  /** Its opening is in this segment; its end is. */
  readonly opens: boolean;
  readonly closes: boolean;
}

/** A workflow, and the partition whose log it is in. */
export interface StreamPlace {
  readonly workflow: WorkflowId;
  readonly partition: Partition;
}

/** The stretch `[from, to)` of a partition's log, archived. */
export interface SegmentRow {
  readonly partition: Partition;
  readonly from: Offset;
  readonly to: Offset;
  /** Name of the object that holds it, and the SHA-256 of that. */
  readonly object: string;
  readonly digest: Sha256;
  readonly bytes: number;
  readonly rawBytes: number;
  readonly eventCount: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly writtenAtMs: number;
  readonly tier: SegmentTier;
  /** Rows of history of the workflows that end in it were deleted since it was trimmed. */
  readonly rowsDropped: boolean;
  readonly workflows: readonly SegmentWorkflow[];
}

export interface SegmentQuery {
  readonly partition?: Partition;
  readonly workflow?: WorkflowId;
  readonly tenant?: TenantId;
  readonly rowsDropped?: boolean;
  readonly tier?: SegmentTier;
  /** Written before then, and their last events were. */
  readonly beforeMs?: number;
  /** Goes on after this one. */
  readonly after?: Pick<SegmentRow, 'partition' | 'from'>;
  readonly limit: number;
}

/** What a tenant's or a workflow's history takes. */
export interface StorageUse {
  readonly name: string;
  readonly workflowCount: number;
  /** Bytes of its payloads in rows, and of those in blobs that rows name. */
  readonly hotBytes: number;
  readonly archivedEventCount: number;
  /** Bytes of its archived records as the log held them, and its share of the segments that hold them. */
  readonly archivedRawBytes: number;
  readonly archivedBytes: number;
  /** Of a workflow that is a fork: its base. */
  readonly forkOf?: WorkflowId | undefined;
}

/** The index of segments. */
export interface SegmentStore {
  /** Those that are known already stay as they are. */
  recordSegments(segments: readonly SegmentRow[]): Promise<void>;
  setTier(segment: Pick<SegmentRow, 'partition' | 'from'>, tier: SegmentTier): Promise<void>;
  /** Events in recorded segments of the partition that end at or before `to`: as many as `to` when none is missing. */
  recordedEvents(partition: Partition, to: Offset): Promise<number>;
  /** Whose workflows there are in segments, deleted ones left out. */
  segmentTenants(): Promise<readonly TenantId[]>;
  /** Forks of the workflow whose own history isn't deleted, by id: they share its history, so it must stay. */
  forksOf(workflow: WorkflowId, limit: number): Promise<readonly WorkflowId[]>;
  /** Whether all of the segment's workflows have ended, before then, and none of them has forks that need it. */
  isPast(segment: Pick<SegmentRow, 'partition' | 'from'>, beforeMs: number): Promise<boolean>;
  /** By partition and offset. */
  segments(query: SegmentQuery): Promise<readonly SegmentRow[]>;
}

/** Rows of history that may leave, and come back from segments. */
export interface ColdRowStore {
  /**
   * Of all partitions. `hotBeforeMs`: what closed later than that stays. `stateless`: definitions whose open workflows go on without
   * their history, as their rows hold all of it.
   */
  floors(hotBeforeMs: number, stateless: readonly string[]): Promise<readonly PartitionFloor[]>;
  /**
   * Deletes rows of history (checkpoints, effects, events, context) of those of the workflows that are closed, and rejected records of the
   * partition before `to`; what says what, when, who and how much stays. Then notes that the segment's rows are dropped.
   */
  dropRows(segment: Pick<SegmentRow, 'partition' | 'from' | 'to'>, workflows: readonly WorkflowId[]): Promise<void>;
  /** Those whose rows of history are in segments only. */
  withoutRows(workflows: readonly WorkflowId[]): Promise<readonly WorkflowId[]>;
  /** Those whose end is in a recorded segment of that partition. */
  endedInSegments(streams: readonly StreamPlace[]): Promise<readonly StreamPlace[]>;
  /** Puts the history of workflows back from a batch that holds all of it. Rows that are there stay. */
  restoreRows(batch: ProjectionBatch, workflows: readonly WorkflowId[], atMs: number): Promise<void>;
  /** Workflows whose rows were put back before then; their rows go again. Returns how many there were, at most `limit`. */
  dropRestored(beforeMs: number, limit: number): Promise<number>;
}

/** What history takes, and what rows name outside. */
export interface StorageStore {
  /** The store's own clock, to hold others against. */
  nowMs(): Promise<number>;
  /** What takes most, most first. Reads all rows of history: for people, not for a loop. Of that tenant alone where one is given. */
  storage(by: 'tenant' | 'workflow', limit: number, tenant?: TenantId | null): Promise<readonly StorageUse[]>;
  /** Texts of rows that name blobs (see blob-store.ts), each once, in the order of their bytes, after the given one. */
  blobReferences(after: string | null, limit: number): Promise<readonly string[]>;
}

export interface TierStore extends SegmentStore, ColdRowStore, StorageStore {}
