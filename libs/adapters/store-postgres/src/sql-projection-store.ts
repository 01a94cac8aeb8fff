/**
 * Owns the port's operations on any client of a Postgres-like database: which statements run, what their rows mean, and which error each
 * fault becomes. Knows neither connections nor any SQL.
 */

import type { Lamport, Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type {
  ApprovalQuery,
  ApprovalRow,
  ChildQuery,
  ChildWork,
  DueTimer,
  FoldedPartition,
  KnownDispatches,
  LeaseRow,
  NewPartition,
  Placed,
  PlacedWorkflow,
  Placement,
  PlacementRequest,
  PlacementRules,
  ProjectionBatch,
  RangeRole,
  RecordPlace,
  RowStore,
  RunnableStream,
  StoreCounts,
  StreamSnapshot,
  UnscrubbedTable,
  WorkflowListing,
  WorkflowQuery,
  WorkflowSummary,
} from '@tidemark/ports';
import { batchedByKey } from '@tidemark/ports/batched';
import { applyBatch } from './apply-batch.ts';
import { faultOf, withFaults } from './faults.ts';
import { placeWorkflows, unappendedPlacements } from './place-workflows.ts';
import { scrubTables } from './scrub-tables.ts';
import { continuationsBegun, continuingOf, pendingContinuations } from './sql/continuations.ts';
import * as coordinate from './sql/coordinate.ts';
import { loadPartitions, partitionsOf } from './sql/load-partitions.ts';
import { loadSignals, signalsOf, withSignals } from './sql/load-signals.ts';
import { loadStreams, snapshotsOf } from './sql/load-streams.ts';
import { findPlaced, placedOf } from './sql/place.ts';
import { approvalOf, readApprovals } from './sql/read-approvals.ts';
import { childWorkOf, readChildWork } from './sql/read-child-work.ts';
import { readLamportOf } from './sql/read-memories.ts';
import { listingOf, readChildren, readOpen, readWorkflows, readWorkflowsOf, workflowOf } from './sql/read-workflows.ts';
import * as readiness from './sql/readiness.ts';
import { RANGES_AT, releaseRanges, shareRanges } from './sql/share-ranges.ts';
import * as traced from './sql/trace-cursors.ts';
import { BEGIN, booleanAt, COMMIT, numberAt, type SqlClient, textAt } from './sql-client.ts';
import { SqlMemories } from './sql-memories.ts';
import { readyOr } from './sql-reads.ts';

/** Most workflows in one read of their rows. */
const WORKFLOWS_BATCH_MAX = 256;

const byId = (row: WorkflowSummary): readonly [WorkflowId, WorkflowSummary] => [row.workflow, row];

export interface SqlProjectionStoreOptions {
  readonly kind: RowStore['kind'];
  readonly client: SqlClient;
  /** Name of the store in errors; without credentials. */
  readonly address: string;
  /** Creates missing tables. */
  ensure(): Promise<void>;
  /** Runs after the client is closed. */
  closed(): Promise<void>;
}

export class SqlProjectionStore extends SqlMemories implements RowStore {
  readonly kind: RowStore['kind'];
  readonly #options: SqlProjectionStoreOptions;
  /** Many may wait for their results at once, and each looks at its row whenever it has changed. */
  readonly workflow = batchedByKey<WorkflowId, WorkflowSummary>(
    WORKFLOWS_BATCH_MAX,
    async (workflows) => new Map((await this.read(readWorkflowsOf(workflows))).map(workflowOf).map(byId)),
  );
  readonly placed = batchedByKey<WorkflowId, PlacedWorkflow>(
    WORKFLOWS_BATCH_MAX,
    async (workflows) => new Map((await this.read(findPlaced(workflows))).map(placedOf)),
  );
  /** The first range that this process owns: the process writes its sums under that range. */
  #shard: number | undefined;

  constructor(options: SqlProjectionStoreOptions) {
    super(withFaults(options.client, options.address));
    this.kind = options.kind;
    this.#options = options;
  }

  async ensure(): Promise<void> {
    try {
      await this.#options.ensure();
    } catch (error) {
      throw faultOf(error, this.#options.address);
    }
  }

  async storeId(): Promise<string> {
    return textAt((await this.read(readiness.readStoreId))[0]!, 0);
  }

  async ready(): Promise<boolean> {
    return (await this.read(readiness.readReadiness)).some((row) => booleanAt(row, 0));
  }

  async addPartitions(partitions: readonly NewPartition[], storeId?: string): Promise<void> {
    const { lockReadiness, insertPartitions, settleReadiness } = readiness;
    const statements = [BEGIN, lockReadiness, insertPartitions(partitions, storeId ?? null), settleReadiness, COMMIT];
    await this.client.run(statements);
  }

  async markReady(): Promise<boolean> {
    const { lockReadiness, declareReady, readReadiness } = readiness;
    const statements = [BEGIN, lockReadiness, declareReady, readReadiness, COMMIT];
    const results = await this.client.run(statements);
    return results[3]?.some((row) => booleanAt(row, 0)) ?? false;
  }

  async shareRanges(owner: string, ttlMs: number, role: RangeRole = 'project'): Promise<readonly number[]> {
    const results = await this.client.run(shareRanges(owner, ttlMs, role));
    const ranges = (results[RANGES_AT] ?? []).map((row) => numberAt(row, 0));
    if (role === 'project') this.#shard = ranges[0];
    return ranges;
  }

  async releaseRanges(owner: string): Promise<void> {
    await this.client.run(releaseRanges(owner));
  }

  async positions(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Offset>> {
    return new Map((await this.read(coordinate.readPositions(partitions))).map(coordinate.positionOf));
  }

  async loadPartitions(partitions: readonly Partition[]): Promise<readonly FoldedPartition[]> {
    return partitions.length === 0 ? [] : partitionsOf(await this.read(loadPartitions(partitions)));
  }

  async apply(batch: ProjectionBatch): Promise<void> {
    if (batch.partitions.length === 0) return;
    await applyBatch(this.client, batch, this.#shard);
  }

  async loadStreams(workflows: readonly WorkflowId[]): Promise<readonly StreamSnapshot<RecordPlace>[]> {
    const distinct = [...new Set(workflows)];
    const snapshots = readyOr(snapshotsOf(distinct, await this.read(loadStreams(distinct))));
    const signals = signalsOf(snapshots);
    return signals.length === 0 ? snapshots : withSignals(snapshots, await this.read(loadSignals(signals)));
  }

  place(requests: readonly PlacementRequest[], rules?: PlacementRules): Promise<readonly Placed[]> {
    return placeWorkflows(this.client, requests, rules);
  }

  unappended(ageMs: number, limit: number): Promise<readonly Placement[]> {
    return unappendedPlacements(this.client, ageMs, limit);
  }

  async runnable(
    after: WorkflowId | null,
    limit: number,
    known: KnownDispatches = new Map(),
  ): Promise<readonly RunnableStream[]> {
    const rows = await this.read(coordinate.findRunnable(after, limit));
    const unknown = rows.flatMap(coordinate.mayDispatch).filter((workflow) => !known.has(workflow));
    const read = unknown.length === 0 ? [] : await this.read(coordinate.readStates(unknown));
    const found = new Map(read.map(coordinate.dispatchedOf));
    return rows.map((row) => {
      const stream = coordinate.runnableOf(row);
      const { dispatch } = known.get(stream.workflow) ?? found.get(stream.workflow) ?? {};
      return dispatch === undefined ? stream : { ...stream, dispatch };
    });
  }

  leases(): Promise<readonly LeaseRow[]> {
    return this.readAll(coordinate.readLeases, coordinate.leaseOf);
  }

  dueTimers(nowMs: number, limit: number, after?: DueTimer): Promise<readonly DueTimer[]> {
    return this.readAll(coordinate.findDueTimers(nowMs, limit, after), coordinate.dueTimerOf);
  }

  async openWorkflows(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]> {
    return (await this.read(readOpen(after, limit))).map((row) => textAt(row, 0) as WorkflowId);
  }

  async workflows(query: WorkflowQuery): Promise<readonly WorkflowSummary[]> {
    return this.readAll(readWorkflows(query), workflowOf);
  }

  childWork(limit: number, skip = 0): Promise<readonly ChildWork[]> {
    return this.readAll(readChildWork(limit, skip), childWorkOf);
  }

  children(query: ChildQuery): Promise<readonly WorkflowListing[]> {
    return this.readAll(readChildren(query), listingOf);
  }

  pendingContinuations(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]> {
    return this.readAll(pendingContinuations(after, limit), continuingOf);
  }

  async continuationsBegun(workflows: readonly WorkflowId[]): Promise<void> {
    await this.read(continuationsBegun(workflows));
  }

  async approvals(query: ApprovalQuery & { readonly limit: number }): Promise<readonly ApprovalRow[]> {
    return this.readAll(readApprovals(query), approvalOf);
  }

  async counts(): Promise<StoreCounts> {
    const [row = []] = await this.read(coordinate.readCounts);
    return coordinate.countsOf(row);
  }

  scrub(): Promise<readonly UnscrubbedTable[]> {
    return scrubTables(this.client, this.kind);
  }

  async lamportOf(tenant: TenantId, subject: string): Promise<Lamport> {
    return numberAt((await this.read(readLamportOf(tenant, subject)))[0] ?? [], 0) as Lamport;
  }

  async tracedTo(): Promise<ReadonlyMap<Partition, Offset>> {
    const statements = [traced.BEGIN_TRACED, traced.READ_TRACED];
    const [, rows = []] = await this.client.run(statements);
    return new Map(rows.map(traced.tracedOf));
  }

  async advanceTraced(to: ReadonlyMap<Partition, Offset>): Promise<void> {
    if (to.size > 0) await this.read(traced.advanceTraced([...to]));
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.#options.closed();
  }
}
