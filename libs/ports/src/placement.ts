/**
 * Owns what a placement is: which partition a workflow has, decided before its opening is appended. Its unique id decides between two
 * starts.
 */

import type { Generation, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { JsonText } from './projection-store.ts';

export interface PlacementRequest {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly mode: 'exclusive' | 'shared';
  /** The opening without partition and generation, from which the record is made the same way every time. */
  readonly opening: JsonText;
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
