/**
 * Owns the part of the projection that tells what is owed to parents and children, and to workflows that go on with a fresh history. Derived from
 * rows alone: served again until it is done.
 */

import type { TaskId, WorkflowId } from '@tidemark/core';
import type { WorkflowListing } from './rows.ts';

/**
 * `start`: a task waits for a child that isn't there; `tell`: one waits for a child that has ended; `end`: a child goes on whose parent has
 * ended, or is being undone.
 */
export interface ChildDuty {
  readonly kind: 'start' | 'tell' | 'end';
  readonly parent: WorkflowId;
  readonly task: TaskId;
  readonly child: WorkflowId;
}

export interface ChildQuery {
  readonly parent: WorkflowId;
  /** The child after whose id to begin. */
  readonly after?: WorkflowId | undefined;
  readonly limit: number;
}

export interface ChildStore {
  /**
   * Parents take turns: the first of each, then the second of each, so that no parent's thousands keep another's one waiting. Those of
   * parents that are paused or cancelled start none. `skip`: so many are passed over.
   */
  childDuties(limit: number, skip?: number): Promise<readonly ChildDuty[]>;
  /** Workflows that tasks of this one have started, however they stand, in order of their ids; without children of theirs. */
  children(query: ChildQuery): Promise<readonly WorkflowListing[]>;
  /** Workflows that closed to go on as the next, and of which it isn't known that the next has begun; in order of their ids, after one of them. */
  continuationsOwed(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]>;
  /** It is known of these. Rows that are rebuilt don't know it, and ask again. */
  continuationsBegun(workflows: readonly WorkflowId[]): Promise<void>;
}
