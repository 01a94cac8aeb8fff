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
  HistoryStore,
  RecordPlace,
  RejectedPlace,
  RejectedRow,
  TaskCommit,
  TaskRow,
} from '@tidemark/ports';
import * as effects from './sql/read-effects.ts';
import * as history from './sql/read-history.ts';
import { readyOr, SqlContext } from './sql-context.ts';

export abstract class SqlHistory extends SqlContext implements HistoryStore<RecordPlace> {
  async tasks(workflow: WorkflowId, limit: number, after: TaskId | null = null): Promise<readonly TaskRow[]> {
    return (await this.read(history.readTasks(workflow, limit, after))).map(history.taskOf);
  }

  async checkpoints(
    workflow: WorkflowId,
    options: { readonly from: Sequence; readonly limit: number; readonly step?: string; readonly since?: Position },
  ): Promise<readonly CheckpointRow<RecordPlace>[]> {
    return readyOr(
      history.whenReady(await this.read(history.readCheckpoints(workflow, options)), history.checkpointOf),
    );
  }

  async effects(
    workflow: WorkflowId,
    options: { readonly task?: TaskId; readonly since?: Position } = {},
  ): Promise<readonly EffectRow<RecordPlace>[]> {
    return readyOr(history.whenReady(await this.read(effects.readEffects(workflow, options)), effects.effectOf));
  }

  async effectPage(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit: number },
  ): Promise<readonly EffectRow<RecordPlace>[]> {
    return readyOr(history.whenReady(await this.read(effects.readEffectPage(workflow, query)), effects.effectOf));
  }

  async effectListings(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit?: number | undefined },
  ): Promise<readonly EffectListing[]> {
    const rows = await this.read(effects.readEffectListings(workflow, query));
    return readyOr(history.whenReady(rows, effects.effectListingOf));
  }

  async commits(workflow: WorkflowId, tasks: readonly TaskId[]): Promise<readonly TaskCommit[]> {
    return readyOr(history.whenReady(await this.read(effects.readCommits(workflow, tasks)), effects.commitOf));
  }

  async corrections(workflow: WorkflowId, sequences: readonly Sequence[]): Promise<readonly Correction[]> {
    const rows = await this.read(history.readCorrections(workflow, sequences));
    return readyOr(history.whenReady(rows, history.correctionOf));
  }

  async events(workflow: WorkflowId, limit: number, query: EventQuery = {}): Promise<readonly EventRow<RecordPlace>[]> {
    return (await this.read(history.readEvents(workflow, limit, query))).map(history.eventOf);
  }

  async rejected(
    limit: number,
    tenant: TenantId | null = null,
    after: RejectedPlace | null = null,
  ): Promise<readonly RejectedRow[]> {
    return (await this.read(history.readRejected(limit, tenant, after))).map(history.rejectedOf);
  }
}
