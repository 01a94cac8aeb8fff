/**
 * Owns the part of the projection that lists pending work between workflows: children to start, children's ends to report to parents,
 * children of ended parents to close, continuations to open. It follows from rows alone, so it is listed again until it is done.
 */

import type { TaskId, WorkflowId } from '@tidemark/core';
import type { WorkflowListing } from './rows.ts';

/**
 * `start`: a task awaits a child that doesn't exist yet; `report`: a task awaits a child that has ended; `end`: a child is open whose parent
 * has ended or is being compensated.
 */
export interface ChildWork {
  readonly kind: 'start' | 'report' | 'end';
  readonly parent: WorkflowId;
  readonly task: TaskId;
  readonly child: WorkflowId;
}

export interface ChildQuery {
  readonly parent: WorkflowId;
  /** Begins after the child with this id. */
  readonly after?: WorkflowId | undefined;
  readonly limit: number;
}

export interface ChildStore {
  /**
   * Takes parents in turns: the first of each, then the second of each, so that one parent's thousands don't delay another's one. Parents
   * that are paused or cancelled start no children. `skip`: how many to skip.
   */
  childWork(limit: number, skip?: number): Promise<readonly ChildWork[]>;
  /** Workflows that tasks of this one have started, in any status, by id; without grandchildren. */
  children(query: ChildQuery): Promise<readonly WorkflowListing[]>;
  /** Workflows that closed to continue as new and whose next run isn't known to have begun; by id, after the given one. */
  pendingContinuations(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]>;
  /** Records that their next runs have begun. Rebuilt rows don't know it, and list them again. */
  continuationsBegun(workflows: readonly WorkflowId[]): Promise<void>;
}
