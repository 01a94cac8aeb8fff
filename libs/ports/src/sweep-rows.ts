/** Owns what coordinators read when they sweep: what can run, what is held, what is due. */

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
import type { TimerRow } from './projection-store.ts';

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
  readonly dispatch?: Dispatch | undefined;
}

export interface LeaseRow {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly partition: Partition;
  readonly generation: Generation;
  readonly epoch: Epoch;
  readonly holder: HolderId;
}

export interface DueTimer extends TimerRow {
  readonly tenant: TenantId;
  readonly generation: Generation;
}
