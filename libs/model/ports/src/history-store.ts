/**
 * Owns the contract of reading a workflow's history from rows: whole where somebody goes on from it, and page by page for people. A page costs
 * what it tells: it goes on after a place that never changes, whatever became of the row meanwhile. Derived from the log like every row (I6).
 */

import type { EffectKey, EventId, Position, Sequence, TaskId, TenantId, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, EffectRow, EventRow, JsonText, RejectedRow, TaskRow } from './rows.ts';

/** An effect without what it asked and was answered. */
export type EffectListing = Omit<EffectRow, 'payload' | 'request'>;

/** Filters hold together. */
export interface EffectQuery {
  /** Of these tasks alone. */
  readonly tasks?: readonly TaskId[] | undefined;
  readonly operation?: string | undefined;
  /** This one alone. */
  readonly key?: EffectKey | undefined;
  /** Goes on after this one. */
  readonly after?: Pick<EffectRow, 'task' | 'key'> | undefined;
}

/** Which checkpoint a task led to. */
export interface TaskCommit {
  readonly task: TaskId;
  readonly sequence: Sequence;
}

/** A checkpoint that corrects an earlier one of its chain. */
export interface Correction {
  readonly supersedes: Sequence;
  readonly sequence: Sequence;
}

export interface EventQuery {
  /** This one alone. */
  readonly event?: EventId | undefined;
  readonly position?: Position | undefined;
  /** Goes on before this one. */
  readonly before?: Position | undefined;
}

/** Where a record is, and when it was written. */
export type RejectedPlace = Pick<RejectedRow, 'atMs' | 'partition' | 'offset'>;

export interface HistoryStore<Said = JsonText> {
  /** In the order of their creation; goes on after the given one. */
  tasks(workflow: WorkflowId, limit: number, after?: TaskId | null): Promise<readonly TaskRow[]>;
  /**
   * By sequence, from `from` on; the opening (sequence 0) only when `from` is 0. `step` filters. Throws `UnavailableError`
   * (`store-rebuilding`) before `ready`, and while the workflow's rows are older than the position `since` (a database that crashed
   * may have gone back): steps build on what is there.
   */
  checkpoints(
    workflow: WorkflowId,
    options: { readonly from: Sequence; readonly limit: number; readonly step?: string; readonly since?: Position },
  ): Promise<readonly CheckpointRow<Said>[]>;
  /** All of them, by position; of one task where it is given. Throws `UnavailableError` (`store-rebuilding`) as `checkpoints` does. */
  effects(
    workflow: WorkflowId,
    options?: { readonly task?: TaskId; readonly since?: Position },
  ): Promise<readonly EffectRow<Said>[]>;
  /** In the order of their tasks, and of the bytes of their keys. Throws `UnavailableError` (`store-rebuilding`) before `ready`. */
  effectPage(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit: number },
  ): Promise<readonly EffectRow<Said>[]>;
  /** The same, and no text is read. Absent `limit`: all of them. */
  effectListings(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit?: number | undefined },
  ): Promise<readonly EffectListing[]>;
  /** Of those of the tasks that have been committed, by sequence. Reads no payload. */
  commits(workflow: WorkflowId, tasks: readonly TaskId[]): Promise<readonly TaskCommit[]>;
  /** Of those of the checkpoints that were corrected, the newest correction, by the corrected sequence. Throws `UnavailableError` (`store-rebuilding`) before `ready`. */
  corrections(workflow: WorkflowId, sequences: readonly Sequence[]): Promise<readonly Correction[]>;
  /** The newest that fit, by position. */
  events(workflow: WorkflowId, limit: number, query?: EventQuery): Promise<readonly EventRow<Said>[]>;
  /** The newest first; goes on after the given place. */
  rejected(limit: number, tenant?: TenantId | null, after?: RejectedPlace | null): Promise<readonly RejectedRow[]>;
}
