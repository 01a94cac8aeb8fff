/**
 * Owns the contract of reading a workflow's history from rows: whole for a worker that resumes, in pages for people. A page costs as much
 * as it returns: it starts after a place that never changes, even if the row of that place is gone. Derived from the log like every row
 * (I6).
 */

import type { EffectKey, EventId, Position, Sequence, TaskId, TenantId, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, EffectRow, EventRow, FoldedStream, JsonText, RejectedRow, TaskRow } from './rows.ts';

/** An effect without its request and response. */
export type EffectListing = Omit<EffectRow, 'payload' | 'request'>;

/** An effect must match all given filters. */
export interface EffectQuery {
  /** Only of these tasks. */
  readonly tasks?: readonly TaskId[] | undefined;
  readonly operation?: string | undefined;
  /** Only this one. */
  readonly key?: EffectKey | undefined;
  /** Starts after this one. */
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
  /** Only this one. */
  readonly event?: EventId | undefined;
  readonly position?: Position | undefined;
  /** Starts before this one, going back. */
  readonly before?: Position | undefined;
}

/** The place of a record, and when it was written. */
export type RejectedPlace = Pick<RejectedRow, 'atMs' | 'partition' | 'offset'>;

export interface HistoryStore<Payload = JsonText> {
  /** In order of creation; starts after the given one. */
  tasks(workflow: WorkflowId, limit: number, after?: TaskId | null): Promise<readonly TaskRow[]>;
  /** The states of those that are not closed, each with its first pending tasks, at most `limit`. */
  frontiers(workflows: readonly WorkflowId[], limit: number): Promise<ReadonlyMap<WorkflowId, FoldedStream>>;
  /**
   * By sequence, starting at `from`; the opening (sequence 0) only when `from` is 0. `step` filters. Throws `UnavailableError`
   * (`store-rebuilding`) before `ready`, and while the workflow's rows are older than the position `since` (a database that crashed may
   * have lost its last writes): steps build on what this returns.
   */
  checkpoints(
    workflow: WorkflowId,
    options: { readonly from: Sequence; readonly limit: number; readonly step?: string; readonly since?: Position },
  ): Promise<readonly CheckpointRow<Payload>[]>;
  /**
   * All of them, by position; those of one task where it is given. Throws `UnavailableError` (`store-rebuilding`) as `checkpoints` does.
   */
  effects(
    workflow: WorkflowId,
    options?: { readonly task?: TaskId; readonly since?: Position },
  ): Promise<readonly EffectRow<Payload>[]>;
  /** By task, then by the bytes of the key. Throws `UnavailableError` (`store-rebuilding`) before `ready`. */
  effectPage(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit: number },
  ): Promise<readonly EffectRow<Payload>[]>;
  /** As `effectPage`, without reading texts. Absent `limit`: all of them. */
  effectListings(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit?: number | undefined },
  ): Promise<readonly EffectListing[]>;
  /** The commits of the given tasks that are done, by sequence. Reads no payload. */
  commits(workflow: WorkflowId, tasks: readonly TaskId[]): Promise<readonly TaskCommit[]>;
  /**
   * For each given checkpoint that was corrected, its newest correction, by the corrected sequence. Throws `UnavailableError`
   * (`store-rebuilding`) before `ready`.
   */
  corrections(workflow: WorkflowId, sequences: readonly Sequence[]): Promise<readonly Correction[]>;
  /** The newest `limit` matches, by position. */
  events(workflow: WorkflowId, limit: number, query?: EventQuery): Promise<readonly EventRow<Payload>[]>;
  /** The newest first; starts after the given place. */
  rejected(limit: number, tenant?: TenantId | null, after?: RejectedPlace | null): Promise<readonly RejectedRow[]>;
}
