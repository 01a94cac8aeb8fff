/**
 * Owns what a placement is: which partition a workflow has, decided before its opening is appended. Its unique id decides between two
 * starts, and its session between two workflows of one.
 */

import type { Generation, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { JsonText } from './rows.ts';

export interface PlacementRequest {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly mode: 'exclusive' | 'shared';
  /** The session that it is a part of: one live workflow of a session is placed at a time. Null: none. */
  readonly session: string | null;
  /** The rules on how many may be live count for it; absent: they don't. */
  readonly isLimited?: boolean | undefined;
  /** The opening without partition and generation, from which the record is made the same way every time. */
  readonly opening: JsonText;
}

/** What a placement leaves room for; an absent member asks for nothing. */
export interface PlacementRules {
  /** So many of the last free partitions are for tenants that have few (`mayTakeFree`). */
  readonly keepFreeCount?: number | undefined;
  /** Live workflows of one tenant, and of all, beyond which no limited request is placed. */
  readonly tenantOpenMax?: number | undefined;
  readonly openMax?: number | undefined;
}

/** Of the last free partitions each tenant may have a share of what the ones before it have left. */
const LAST_FREE_SHARE = 1 / 4;

/** Whether a tenant with live workflows in `ownCount` partitions may take one of `freeCount` that have none. */
export const mayTakeFree = (ownCount: number, freeCount: number, { keepFreeCount = 0 }: PlacementRules): boolean =>
  freeCount > keepFreeCount || ownCount < freeCount * LAST_FREE_SHARE;

/** Not placed: as many are live as the rule allows. */
export interface PlacementRefused {
  readonly workflow: WorkflowId;
  readonly refusedBy: 'tenantOpenMax' | 'openMax';
}

/** What becomes of a request that is answered. */
export type Placed = Placement | SessionTaken | PlacementRefused;

/** Not placed: its session has another live workflow. */
export interface SessionTaken {
  readonly workflow: WorkflowId;
  readonly takenBy: WorkflowId;
}

export interface Placement {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly partition: Partition;
  readonly generation: Generation;
  readonly mode: 'exclusive' | 'shared';
  readonly opening: JsonText;
  /** False: this id was placed before, by this or another caller. */
  readonly created: boolean;
  /** True once its opening was accepted by the fold. */
  readonly appended: boolean;
}

/** That a workflow was placed, which is what a start does first: whether its rows are there yet or not, it exists. */
export interface PlacedWorkflow {
  readonly tenant: TenantId;
  /** Its opening is folded: `ProjectionStore.workflow` has it. */
  readonly appended: boolean;
}

/** Where new workflows go. */
export interface PlacementStore {
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
}
