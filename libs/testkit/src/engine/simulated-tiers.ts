/** Owns the simulated store's part in tiers: recorded segments, and rows that are deleted and restored. Must not be used outside tests. */

import type { Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type {
  PartitionFloor,
  ProjectionBatch,
  RejectedRow,
  SegmentQuery,
  SegmentRow,
  SegmentTier,
  StorageUse,
  StreamPlace,
  TierStore,
  TraceStore,
  UserWorkflow,
} from '@tidemark/ports';
import { SimulatedContext } from './simulated-context.ts';
import { type PartitionRow, type PlacedRow, putHistory, type Rows } from './simulated-rows.ts';

export abstract class SimulatedTiers extends SimulatedContext implements TierStore, TraceStore {
  readonly partitions = new Map<Partition, PartitionRow>();
  readonly rows = new Map<WorkflowId, Rows>();
  readonly placements = new Map<WorkflowId, PlacedRow>();
  rejectedRows: RejectedRow[] = [];
  readonly segmentRows = new Map<string, SegmentRow>();
  /** Time of the store's clock. */
  clock: () => number = Date.now;

  #traced: Map<Partition, Offset> | undefined;

  async tracedTo(): Promise<ReadonlyMap<Partition, Offset>> {
    await this.enter('tracedTo');
    this.#traced ??= new Map([...this.partitions].map(([partition, { next }]) => [partition, next]));
    return new Map(this.#traced);
  }

  async advanceTraced(to: ReadonlyMap<Partition, Offset>): Promise<void> {
    await this.enter('advanceTraced');
    this.#traced ??= new Map();
    for (const [partition, next] of to) {
      this.#traced.set(partition, Math.max(next, this.#traced.get(partition) ?? 0) as Offset);
    }
  }

  async userWorkflows(tenant: TenantId, user: string, after: WorkflowId | null, limit: number) {
    await this.enter('userWorkflows');
    const found = [...this.rows.values()].flatMap(({ stream }): UserWorkflow[] => {
      const { workflow, state, closedInGeneration } = stream;
      const reported = (state === '' ? {} : JSON.parse(state)) as { readonly user?: string; readonly session?: string };
      const part = this.sessionOf(workflow);
      const isTheirs = stream.tenant === tenant && (part?.user === user || reported.user === user);
      if (!isTheirs || workflow <= (after ?? '')) return [];
      return [{ workflow, session: part?.session ?? reported.session ?? null, isOpen: closedInGeneration === null }];
    });
    return found.sort((a, b) => (a.workflow < b.workflow ? -1 : 1)).slice(0, limit);
  }

  async nowMs(): Promise<number> {
    await this.enter('nowMs');
    return this.clock();
  }

  async floors(hotBeforeMs: number, stateless: readonly string[]): Promise<readonly PartitionFloor[]> {
    await this.enter('floors');
    return [...this.partitions].map(([partition, { next }]) => {
      const held = [...this.rows.values()].filter(
        ({ stream, hasRows, restoredAtMs }) => stream.partition === partition && hasRows && restoredAtMs === null,
      );
      const needed = held.flatMap(({ stream, checkpoints }) => {
        const isOpen = stream.closedInGeneration === null;
        if (stateless.includes(stream.definition) || (!isOpen && stream.updatedAtMs <= hotBeforeMs)) return [];
        const from = isOpen ? stream.beliefSequence : 0;
        return checkpoints.flatMap(({ sequence, offset }) => (sequence === from ? [offset] : []));
      });
      return { partition, next, floor: Math.min(next, ...needed) as Offset };
    });
  }

  async recordSegments(segments: readonly SegmentRow[]): Promise<void> {
    await this.enter('recordSegments');
    for (const segment of segments) {
      if (!this.segmentRows.has(keyOf(segment))) this.segmentRows.set(keyOf(segment), segment);
    }
  }

  async setTier(segment: Pick<SegmentRow, 'partition' | 'from'>, tier: SegmentTier): Promise<void> {
    await this.enter('setTier');
    const known = this.segmentRows.get(keyOf(segment));
    if (known !== undefined) this.segmentRows.set(keyOf(segment), { ...known, tier });
  }

  async recordedEvents(partition: Partition, to: Offset): Promise<number> {
    await this.enter('recordedEvents');
    const known = [...this.segmentRows.values()].filter((row) => row.partition === partition && row.to <= to);
    return known.reduce((sum, row) => sum + row.to - row.from, 0);
  }

  async segmentTenants(): Promise<readonly TenantId[]> {
    await this.enter('segmentTenants');
    const kept = [...this.segmentRows.values()].filter(({ tier }) => tier !== 'deleted');
    return [...new Set(kept.flatMap(({ workflows }) => workflows.map(({ tenant }) => tenant)))].sort();
  }

  async forksOf(workflow: WorkflowId, limit: number): Promise<readonly WorkflowId[]> {
    await this.enter('forksOf');
    return this.#forksOf(workflow).slice(0, limit);
  }

  #forksOf(base: WorkflowId): readonly WorkflowId[] {
    const deleted = [...this.segmentRows.values()].filter(({ tier }) => tier === 'deleted');
    const isGone = (fork: WorkflowId): boolean =>
      deleted.some(({ workflows }) => workflows.some((part) => part.opens && part.workflow === fork));
    const forks = [...this.rows.values()].filter(({ stream }) => stream.fork?.workflow === base);
    return forks.flatMap(({ stream: { workflow } }) => (isGone(workflow) ? [] : [workflow])).sort();
  }

  async isPast(segment: Pick<SegmentRow, 'partition' | 'from'>, beforeMs: number): Promise<boolean> {
    await this.enter('isPast');
    const { workflows = [] } = this.segmentRows.get(keyOf(segment)) ?? {};
    return workflows.every(({ workflow }) => {
      const stream = this.rows.get(workflow)?.stream;
      if (stream === undefined) return true;
      const hasEnded = stream.closedInGeneration !== null && stream.updatedAtMs < beforeMs;
      return hasEnded && this.#forksOf(workflow).length === 0;
    });
  }

  async segments({
    partition,
    workflow,
    tenant,
    rowsDropped,
    tier,
    beforeMs = Number.POSITIVE_INFINITY,
    after,
    limit,
  }: SegmentQuery): Promise<readonly SegmentRow[]> {
    await this.enter('segments');
    return [...this.segmentRows.values()]
      .filter((row) => tier === undefined || row.tier === tier)
      .filter((row) => row.writtenAtMs < beforeMs && row.lastAtMs < beforeMs)
      .filter((row) => after === undefined || row.partition > after.partition || row.from > after.from)
      .filter((row) => partition === undefined || row.partition === partition)
      .filter((row) => rowsDropped === undefined || row.rowsDropped === rowsDropped)
      .filter((row) => workflow === undefined || row.workflows.some((part) => part.workflow === workflow))
      .filter((row) => tenant === undefined || row.workflows.some((part) => part.tenant === tenant))
      .sort((a, b) => a.partition - b.partition || a.from - b.from)
      .slice(0, limit);
  }

  async dropRows(
    segment: Pick<SegmentRow, 'partition' | 'from' | 'to'>,
    workflows: readonly WorkflowId[],
  ): Promise<void> {
    await this.enter('dropRows');
    for (const workflow of workflows) {
      const rows = this.rows.get(workflow);
      if (rows !== undefined && rows.stream.closedInGeneration !== null) this.#dropHistory(rows);
    }
    this.rejectedRows = this.rejectedRows.filter(
      ({ partition, offset }) => partition !== segment.partition || offset >= segment.to,
    );
    const known = this.segmentRows.get(keyOf(segment));
    if (known !== undefined) this.segmentRows.set(keyOf(segment), { ...known, rowsDropped: true });
  }

  #dropHistory(rows: Rows): void {
    rows.checkpoints.length = 0;
    rows.effects.clear();
    rows.events.length = 0;
    this.dropSeen(rows.stream.workflow);
    const { stream } = rows;
    const isNewest = stream.closedInGeneration === this.partitions.get(stream.partition)?.generation;
    if (!isNewest) rows.stream = { ...stream, state: '' };
    rows.hasRows = false;
    rows.restoredAtMs = null;
  }

  async withoutRows(workflows: readonly WorkflowId[]): Promise<readonly WorkflowId[]> {
    await this.enter('withoutRows');
    return workflows.filter((workflow) => this.rows.get(workflow)?.hasRows === false);
  }

  async endedInSegments(streams: readonly StreamPlace[]): Promise<readonly StreamPlace[]> {
    await this.enter('endedInSegments');
    const rows = [...this.segmentRows.values()];
    return streams.filter((stream) =>
      rows.some(
        ({ partition, workflows }) =>
          partition === stream.partition && workflows.some((part) => part.closes && part.workflow === stream.workflow),
      ),
    );
  }

  async restoreRows(batch: ProjectionBatch, workflows: readonly WorkflowId[], atMs: number): Promise<void> {
    await this.enter('restoreRows');
    const wanted = new Map(
      workflows.flatMap((workflow) => {
        const rows = this.rows.get(workflow);
        return rows?.hasRows === false ? [[workflow, rows] as const] : [];
      }),
    );
    putHistory(wanted, batch);
    if (batch.context !== undefined) {
      const { fragments, texts, scopes } = batch.context;
      const of = <R extends { readonly workflow: WorkflowId }>(rows: readonly R[]): readonly R[] =>
        rows.filter(({ workflow }) => wanted.has(workflow));
      this.applySeen({ fragments: of(fragments), texts: of(texts), scopes: of(scopes) });
    }
    for (const stream of batch.streams) {
      const rows = wanted.get(stream.workflow);
      if (rows === undefined) continue;
      rows.stream = { ...rows.stream, state: stream.state };
      rows.hasRows = true;
      rows.restoredAtMs = atMs;
    }
  }

  async dropRestored(beforeMs: number, limit: number): Promise<number> {
    await this.enter('dropRestored');
    const old = [...this.rows.values()].filter(({ restoredAtMs }) => restoredAtMs !== null && restoredAtMs < beforeMs);
    for (const rows of old.slice(0, limit)) this.#dropHistory(rows);
    return Math.min(old.length, limit);
  }

  async storage(
    by: 'tenant' | 'workflow',
    limit: number,
    tenant: TenantId | null = null,
  ): Promise<readonly StorageUse[]> {
    await this.enter('storage');
    const own = [...this.rows.values()].filter(({ stream }) => tenant === null || stream.tenant === tenant);
    const uses = [...Map.groupBy(own, ({ stream }) => stream[by])].map(([name, of]): StorageUse => {
      const forkOf = by === 'workflow' ? of[0]!.stream.fork?.workflow : undefined;
      const parts = of.flatMap(({ stream }) => this.#archivedOf(stream.workflow));
      return {
        name,
        workflowCount: of.length,
        hotBytes: sum(of.map((rows) => this.#hotBytes(rows))),
        archivedEventCount: sum(parts.map(({ part }) => part.eventCount)),
        archivedRawBytes: sum(parts.map(({ part }) => part.rawBytes)),
        archivedBytes: Math.round(sum(parts.map(({ part, row }) => (row.bytes * part.rawBytes) / row.rawBytes))),
        ...(forkOf !== undefined && { forkOf }),
      };
    });
    const totalOf = (use: StorageUse): number => use.hotBytes + use.archivedBytes;
    return uses.sort((a, b) => totalOf(b) - totalOf(a) || (a.name < b.name ? -1 : 1)).slice(0, limit);
  }

  #archivedOf(workflow: WorkflowId) {
    const kept = [...this.segmentRows.values()].filter(({ tier }) => tier !== 'deleted');
    return kept.flatMap((row) => {
      const part = row.workflows.find((each) => each.workflow === workflow);
      return part === undefined ? [] : [{ row, part }];
    });
  }

  #hotBytes({ stream, checkpoints, effects, events }: Rows): number {
    const payloads = [...checkpoints, ...effects.values(), ...events].map(({ payload }) => payload.bytes);
    const texts = this.seenTextsOf(stream.workflow).map((text) => Buffer.byteLength(text));
    return sum([...payloads, ...texts]);
  }

  protected loseTiers(): void {
    this.segmentRows.clear();
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
const keyOf = ({ partition, from }: Pick<SegmentRow, 'partition' | 'from'>): string => `${partition}:${from}`;
