/**
 * Owns placements: which partition a workflow has, decided before its opening is appended. The unique id arbitrates between two starts, and
 * the session between two workflows of one session.
 */

import type { Generation, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { JsonText } from './rows.ts';

export interface PlacementRequest {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly mode: 'exclusive' | 'shared';
  /** While no partition is free, it joins that of this live workflow of its tenant, where `mayJoin` lets it. */
  readonly beside?: WorkflowId | undefined;
  /** The session of the workflow: at most one live workflow of a session is placed at a time. Null: none. */
  readonly session: string | null;
  /** It is placed only while rows know none of these, ended or not; rows that are rebuilt know what the log and the archive's manifests do. */
  readonly unless?: readonly WorkflowId[] | undefined;
  /** The limits on live workflows apply to it; absent: they don't. */
  readonly isLimited?: boolean | undefined;
  /** The opening without partition and generation. The record is made from it the same way every time. */
  readonly opening: JsonText;
}

/** Limits on placements; an absent member doesn't limit. */
export interface PlacementRules {
  /** This many of the last free partitions are reserved for tenants that have few (`mayTakeFree`). */
  readonly keepFreeCount?: number | undefined;
  /** Number of live workflows of one tenant, and of all, at which limited requests are refused. */
  readonly tenantOpenMax?: number | undefined;
  readonly openMax?: number | undefined;
}

/** Of the last free partitions, each tenant may have this share of what the tenants before it left. */
const LAST_FREE_SHARE = 1 / 4;

/** Whether a tenant with live workflows in `ownCount` partitions may take one of `freeCount` free ones. */
export const mayTakeFree = (ownCount: number, freeCount: number, { keepFreeCount = 0 }: PlacementRules): boolean =>
  freeCount > keepFreeCount || ownCount < freeCount * LAST_FREE_SHARE;

/** Most live workflows of a partition that another may join. */
const JOINED_LIVE_MAX = 8;

/** Whether a workflow of the tenant may join a partition with so many live workflows of that tenant. */
export const mayJoin = (
  tenant: TenantId,
  partition: { readonly live: number; readonly tenant: TenantId | null } | undefined,
): boolean =>
  partition !== undefined && partition.live > 0 && partition.live < JOINED_LIVE_MAX && partition.tenant === tenant;

/** Not placed: a limit on live workflows is reached. */
export interface PlacementRefused {
  readonly workflow: WorkflowId;
  readonly refusedBy: 'tenantOpenMax' | 'openMax';
}

/** The answer to a request. */
export type Placed = Placement | PlaceTaken | PlacementRefused;

/** Not placed: its session has another live workflow, or a workflow that it is not to be placed beside is there. */
export interface PlaceTaken {
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
  /** True once the fold accepted its opening: `ProjectionStore.workflow` has it. */
  readonly appended: boolean;
}

/** A placed workflow. Placing is the first thing that a start does, so the workflow exists whether it has rows or not. */
export type PlacedWorkflow = Pick<Placement, 'tenant' | 'partition' | 'generation' | 'appended'>;

/** Where new workflows go. */
export interface PlacementStore {
  /**
   * Places workflows that have no placement yet, and returns the existing placement of those that have. Omits those for which no partition
   * is free: the caller grows the pool, or passes `mode: 'shared'`. Of the workflows of one session the first is placed, and the others
   * once it has closed. Limits hold exactly under concurrent calls. One transaction. Throws `UnavailableError` (`store-rebuilding`) before
   * `ready`.
   */
  place(requests: readonly PlacementRequest[], rules?: PlacementRules): Promise<readonly Placed[]>;
  /** Undefined: no workflow of this id was ever started. */
  placed(workflow: WorkflowId): Promise<PlacedWorkflow | undefined>;
  /**
   * Placements that are at least `ageMs` old and whose opening the fold hasn't accepted, by generation. When the fold has passed the
   * generation of one, it gets its partition's next generation first: its old opening would be rejected for ever.
   */
  unappended(ageMs: number, limit: number): Promise<readonly Placement[]>;
}
