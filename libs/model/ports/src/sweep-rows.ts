/** Owns what coordinators read when they sweep: what can run, what is held, what is due, how much there is; and what they share out. */

import type {
  Dispatch,
  Epoch,
  Generation,
  HolderId,
  Lamport,
  Offset,
  Partition,
  TenantId,
  WorkflowId,
} from '@tidemark/core';
import type { TimerRow } from './rows.ts';

export interface RunnableStream {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly definition: string;
  readonly version: number;
  readonly pinned: boolean;
  readonly partition: Partition;
  readonly next: Offset;
  readonly lamport: Lamport;
  readonly epoch: Epoch;
  /** Never changes. */
  readonly dispatch?: Dispatch | undefined;
}

/** What a caller has read before of streams that can run. */
export type KnownDispatches = ReadonlyMap<WorkflowId, Pick<RunnableStream, 'dispatch'>>;

export interface LeaseRow {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly definition: string;
  readonly partition: Partition;
  readonly generation: Generation;
  readonly epoch: Epoch;
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

/** What the owner of a range does with its partitions: projecting (the default), or archiving. */
export type RangeRole = 'project' | 'compact';

/** Number of ranges that partitions are shared out in; more coordinators than this leave some without projection work. */
export const RANGE_COUNT = 64;

/** What coordinators look for again and again, in case that a hint was lost. */
export interface SweepStore {
  /** Runnable streams after the given id, by id; for the sweep. How those are dispatched that are `known` isn't read again. */
  runnable(after: WorkflowId | null, limit: number, known?: KnownDispatches): Promise<readonly RunnableStream[]>;
  /** Distinct holders of live leases, with what they hold. */
  leases(): Promise<readonly LeaseRow[]>;
  /** By when they are due, workflow and name; those after the given one. */
  dueTimers(nowMs: number, limit: number, after?: DueTimer): Promise<readonly DueTimer[]>;
  /** Ids of workflows that aren't closed, after the given one, by id; without the system's own. */
  openWorkflows(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]>;
}
