/** Owns the reads of workflows' histories, whole and page by page, and of what was rejected. Knows no client: a subclass runs the statements. */

import type { Position, Sequence, TaskId, TenantId, WorkflowId } from '@tidemark/core';
import type {
  CheckpointRow,
  Correction,
  EffectListing,
  EffectQuery,
  EffectRow,
  EventQuery,
  EventRow,
  FoldedStream,
  HistoryStore,
  RecordPlace,
  RejectedPlace,
  RejectedRow,
  TaskCommit,
  TaskRow,
} from '@tidemark/ports';
import * as effects from './sql/read-effects.ts';
import * as history from './sql/read-history.ts';
import { SqlContext } from './sql-context.ts';

export abstract class SqlHistory extends SqlContext implements HistoryStore<RecordPlace> {
  tasks(workflow: WorkflowId, limit: number, after: TaskId | null = null): Promise<readonly TaskRow[]> {
    return this.readAll(history.readTasks(workflow, limit, after), history.taskOf);
  }

  async frontiers(workflows: readonly WorkflowId[], limit: number): Promise<ReadonlyMap<WorkflowId, FoldedStream>> {
    return history.frontiersOf(await this.read(history.readFrontiers(workflows, limit)));
  }

  checkpoints(
    workflow: WorkflowId,
    options: { readonly from: Sequence; readonly limit: number; readonly step?: string; readonly since?: Position },
  ): Promise<readonly CheckpointRow<RecordPlace>[]> {
    return this.readReady(history.readCheckpoints(workflow, options), history.checkpointOf);
  }

  effects(
    workflow: WorkflowId,
    options: { readonly task?: TaskId; readonly since?: Position } = {},
  ): Promise<readonly EffectRow<RecordPlace>[]> {
    return this.readReady(effects.readEffects(workflow, options), effects.effectOf);
  }

  effectPage(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit: number },
  ): Promise<readonly EffectRow<RecordPlace>[]> {
    return this.readReady(effects.readEffectPage(workflow, query), effects.effectOf);
  }

  effectListings(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit?: number | undefined },
  ): Promise<readonly EffectListing[]> {
    return this.readReady(effects.readEffectListings(workflow, query), effects.effectListingOf);
  }

  commits(workflow: WorkflowId, tasks: readonly TaskId[]): Promise<readonly TaskCommit[]> {
    return this.readReady(effects.readCommits(workflow, tasks), effects.commitOf);
  }

  corrections(workflow: WorkflowId, sequences: readonly Sequence[]): Promise<readonly Correction[]> {
    return this.readReady(history.readCorrections(workflow, sequences), history.correctionOf);
  }

  events(workflow: WorkflowId, limit: number, query: EventQuery = {}): Promise<readonly EventRow<RecordPlace>[]> {
    return this.readAll(history.readEvents(workflow, limit, query), history.eventOf);
  }

  rejected(
    limit: number,
    tenant: TenantId | null = null,
    after: RejectedPlace | null = null,
  ): Promise<readonly RejectedRow[]> {
    return this.readAll(history.readRejected(limit, tenant, after), history.rejectedOf);
  }
}
