/** Owns what coordinators read when they sweep: runnable workflows, leases, due timers, counts; and the ranges that they share. */

import type { Dispatch, Generation, HolderId, Offset, TenantId, WorkflowId } from '@tidemark/core';
import type { StreamRow, TimerRow } from './rows.ts';

export interface RunnableStream
  extends Pick<
    StreamRow,
    'workflow' | 'tenant' | 'definition' | 'version' | 'pinned' | 'partition' | 'lamport' | 'epoch'
  > {
  readonly next: Offset;
  /** Never changes. */
  readonly dispatch?: Dispatch | undefined;
}

/** The dispatches of runnable streams that a caller already has. */
export type KnownDispatches = ReadonlyMap<WorkflowId, Pick<RunnableStream, 'dispatch'>>;

export interface LeaseRow
  extends Pick<StreamRow, 'workflow' | 'tenant' | 'definition' | 'partition' | 'generation' | 'epoch'> {
  readonly holder: HolderId;
}

export interface DueTimer extends TimerRow {
  readonly tenant: TenantId;
  readonly generation: Generation;
}

export interface StoreCounts {
  readonly partitionCount: number;
  /** Workflows that are placed and not closed, whether their opening is projected or not. */
  readonly openCount: number;
  readonly leasedCount: number;
  readonly runnableCount: number;
  readonly rejectedCount: number;
  /** Placements whose opening is not yet known to be in the log. */
  readonly unappendedCount: number;
}

/** What the owner of a range does with its partitions: project (the default), or archive. */
export type RangeRole = 'project' | 'compact';

/** Number of ranges among which partitions are divided; with more coordinators than this, some project nothing. */
export const RANGE_COUNT = 64;

/** What coordinators poll, in case a hint was lost. */
export interface SweepStore {
  /** Runnable streams after the given id, by id; for the sweep. The dispatch of a `known` stream isn't read again. */
  runnable(after: WorkflowId | null, limit: number, known?: KnownDispatches): Promise<readonly RunnableStream[]>;
  /** Distinct holders of live leases, with their leases. */
  leases(): Promise<readonly LeaseRow[]>;
  /** By due time, workflow and name; those after the given one. */
  dueTimers(nowMs: number, limit: number, after?: DueTimer): Promise<readonly DueTimer[]>;
  /** Ids of workflows that aren't closed, after the given one, by id; without the system's own. */
  openWorkflows(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]>;
}
