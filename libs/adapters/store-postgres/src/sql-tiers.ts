/**
 * Owns the store's part in tiers: which statements run, in which transactions. Knows no object store: the caller has verified what lies
 * there.
 */

import type { TenantId, WorkflowId } from '@tidemark/core';
import type {
  PartitionFloor,
  ProjectionBatch,
  SegmentQuery,
  SegmentRow,
  StorageUse,
  StreamPlace,
  TierStore,
} from '@tidemark/ports';
import { historyStatements } from './apply-batch.ts';
import * as history from './sql/history-rows.ts';
import * as segments from './sql/segments.ts';
import { BEGIN, booleanAt, COMMIT, numberAt, type Rows, textAt } from './sql-client.ts';
import { SqlSearch } from './sql-search.ts';

const namesIn = (rows: Rows = []): WorkflowId[] => rows.map((row) => textAt(row, 0) as WorkflowId);

export abstract class SqlTiers extends SqlSearch implements TierStore {
  async nowMs(): Promise<number> {
    return numberAt((await this.read(segments.readNow))[0]!, 0);
  }

  async floors(hotBeforeMs: number, stateless: readonly string[]): Promise<readonly PartitionFloor[]> {
    return this.readAll(segments.readFloors(hotBeforeMs, stateless), segments.floorOf);
  }

  async recordSegments(rows: readonly SegmentRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.client.run([segments.putSegments(rows), segments.putParts(segments.partsOf(rows))]);
  }

  async setTier(...of: Parameters<typeof segments.setTier>): Promise<void> {
    await this.client.run([segments.setTier(...of)]);
  }

  async recordedEvents(...of: Parameters<typeof segments.countRecorded>): Promise<number> {
    return numberAt((await this.read(segments.countRecorded(...of)))[0]!, 0);
  }

  async segmentTenants(): Promise<readonly TenantId[]> {
    return this.readAll(segments.readTenants, (row) => textAt(row, 0) as TenantId);
  }

  async forksOf(...of: Parameters<typeof segments.findForks>): Promise<readonly WorkflowId[]> {
    return namesIn(await this.read(segments.findForks(...of)));
  }

  async isPast(...of: Parameters<typeof segments.findUnfinished>): Promise<boolean> {
    return !booleanAt((await this.read(segments.findUnfinished(...of)))[0]!, 0);
  }

  async segments(query: SegmentQuery): Promise<readonly SegmentRow[]> {
    return this.readAll(segments.findSegments(query), segments.segmentOf);
  }

  dropRows(segment: Pick<SegmentRow, 'partition' | 'from' | 'to'>, workflows: readonly WorkflowId[]): Promise<void> {
    return this.client.session(async (runner) => {
      const [, rows] = await runner.run([BEGIN, history.lockClosed(workflows)]);
      const closed = namesIn(rows);
      await runner.run([
        ...(closed.length === 0 ? [] : history.deleteHistory(closed)),
        ...(closed.length === workflows.length ? [] : [history.forgetStates(workflows)]),
        ...history.settleSegment(segment),
        COMMIT,
      ]);
    });
  }

  async withoutRows(workflows: readonly WorkflowId[]): Promise<readonly WorkflowId[]> {
    return namesIn(await this.read(history.findWithoutRows(workflows)));
  }

  async endedInSegments(streams: readonly StreamPlace[]): Promise<readonly StreamPlace[]> {
    return this.readAll(segments.findEnded(streams), segments.placeOf);
  }

  restoreRows(batch: ProjectionBatch, workflows: readonly WorkflowId[], atMs: number): Promise<void> {
    return this.client.session(async (runner) => {
      const [, gone] = await runner.run([BEGIN, history.lockWithoutRows(workflows)]);
      const wanted = new Set<string>(namesIn(gone));
      const streams = batch.streams.filter(({ workflow }) => wanted.has(workflow));
      await runner.run([
        ...historyStatements(batch, (workflow) => wanted.has(workflow)),
        history.markWithRows(
          streams.map(({ workflow }) => workflow),
          streams.map(({ state }) => state),
          atMs,
        ),
        COMMIT,
      ]);
    });
  }

  dropRestored(beforeMs: number, limit: number): Promise<number> {
    return this.client.session(async (runner) => {
      const [, restored] = await runner.run([BEGIN, history.lockRestored(beforeMs, limit)]);
      const workflows = namesIn(restored);
      await runner.run([...(workflows.length === 0 ? [] : history.deleteHistory(workflows)), COMMIT]);
      return workflows.length;
    });
  }

  async storage(
    by: 'tenant' | 'workflow',
    limit: number,
    tenant: TenantId | null = null,
  ): Promise<readonly StorageUse[]> {
    return this.readAll(segments.readStorage(by, limit, tenant), segments.storageOf);
  }
}
