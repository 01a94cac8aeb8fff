/**
 * Owns the port's operations on any client of a Postgres-like database: which statements run, what their rows mean, and the name of every
 * fault. Knows neither connections nor any SQL.
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
  MemoryEmbedding,
  MemoryName,
  MemoryQuery,
  MemoryRow,
  NewPartition,
  PartitionFloor,
  Placed,
  PlacedWorkflow,
  Placement,
  PlacementRequest,
  PlacementRules,
  ProjectionBatch,
  RangeRole,
  RecalledMemory,
  RecallQuery,
  RecordPlace,
  RowStore,
  RunnableStream,
  SegmentQuery,
  SegmentRow,
  StorageUse,
  StoreCounts,
  StreamPlace,
  StreamSnapshot,
  UnembeddedMemory,
  UnscrubbedTable,
  WorkflowListing,
  WorkflowQuery,
  WorkflowSearch,
  WorkflowSummary,
  WrittenQuery,
} from '@tidemark/ports';
import { applyBatch } from './apply-batch.ts';
import { faultOf } from './faults.ts';
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
import { listingOf, readChildren, readOpen, readWorkflow, readWorkflows, workflowOf } from './sql/read-workflows.ts';
import * as readiness from './sql/readiness.ts';
import { RANGES_AT, releaseRanges, shareRanges } from './sql/share-ranges.ts';
import * as traced from './sql/trace-cursors.ts';
import { BEGIN, booleanAt, COMMIT, numberAt, type Rows, type SqlClient, type Statement, textAt } from './sql-client.ts';
import { readyOr } from './sql-context.ts';
import { SqlHistory } from './sql-history.ts';
import { SqlMemories } from './sql-memories.ts';
import { SqlSearch } from './sql-search.ts';
import { SqlTiers } from './sql-tiers.ts';

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

export class SqlProjectionStore extends SqlHistory implements RowStore {
  readonly kind: RowStore['kind'];
  readonly #client: SqlClient;
  readonly #memories: SqlMemories;
  readonly #searching: SqlSearch;
  readonly #tiers: SqlTiers;
  readonly #options: SqlProjectionStoreOptions;
  /** The first of this process's ranges, whose sums it writes. */
  #shard: number | undefined;

  constructor(options: SqlProjectionStoreOptions) {
    super();
    this.kind = options.kind;
    this.#client = options.client;
    this.#memories = new SqlMemories(options.client);
    this.#searching = new SqlSearch(options.client);
    this.#tiers = new SqlTiers(options.client);
    this.#options = options;
  }

  ensure(): Promise<void> {
    return this.#guarded(() => this.#options.ensure());
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
    await this.#guarded(() => this.#client.run(statements));
  }

  async markReady(): Promise<boolean> {
    const { lockReadiness, declareReady, readReadiness } = readiness;
    const statements = [BEGIN, lockReadiness, declareReady, readReadiness, COMMIT];
    const results = await this.#guarded(() => this.#client.run(statements));
    return results[3]?.some((row) => booleanAt(row, 0)) ?? false;
  }

  async shareRanges(owner: string, ttlMs: number, role: RangeRole = 'project'): Promise<readonly number[]> {
    const results = await this.#guarded(() => this.#client.run(shareRanges(owner, ttlMs, role)));
    const ranges = (results[RANGES_AT] ?? []).map((row) => numberAt(row, 0));
    if (role === 'project') this.#shard = ranges[0];
    return ranges;
  }

  async releaseRanges(owner: string): Promise<void> {
    await this.#guarded(() => this.#client.run(releaseRanges(owner)));
  }

  async positions(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Offset>> {
    return new Map((await this.read(coordinate.readPositions(partitions))).map(coordinate.positionOf));
  }

  async loadPartitions(partitions: readonly Partition[]): Promise<readonly FoldedPartition[]> {
    return partitions.length === 0 ? [] : partitionsOf(await this.read(loadPartitions(partitions)));
  }

  async apply(batch: ProjectionBatch): Promise<void> {
    if (batch.partitions.length === 0) return;
    await this.#guarded(() => applyBatch(this.#client, batch, this.#shard));
  }

  async loadStreams(workflows: readonly WorkflowId[]): Promise<readonly StreamSnapshot<RecordPlace>[]> {
    const distinct = [...new Set(workflows)];
    const snapshots = readyOr(snapshotsOf(distinct, await this.read(loadStreams(distinct))));
    const signals = signalsOf(snapshots);
    return signals.length === 0 ? snapshots : withSignals(snapshots, await this.read(loadSignals(signals)));
  }

  place(requests: readonly PlacementRequest[], rules?: PlacementRules): Promise<readonly Placed[]> {
    return this.#guarded(() => placeWorkflows(this.#client, requests, rules));
  }

  async placed(workflow: WorkflowId): Promise<PlacedWorkflow | undefined> {
    return (await this.read(findPlaced(workflow))).map(placedOf)[0];
  }

  unappended(ageMs: number, limit: number): Promise<readonly Placement[]> {
    return this.#guarded(() => unappendedPlacements(this.#client, ageMs, limit));
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

  async leases(): Promise<readonly LeaseRow[]> {
    return (await this.read(coordinate.readLeases)).map(coordinate.leaseOf);
  }

  async dueTimers(nowMs: number, limit: number, after?: DueTimer): Promise<readonly DueTimer[]> {
    return (await this.read(coordinate.findDueTimers(nowMs, limit, after))).map(coordinate.dueTimerOf);
  }

  async openWorkflows(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]> {
    return (await this.read(readOpen(after, limit))).map((row) => textAt(row, 0) as WorkflowId);
  }

  async workflow(workflow: WorkflowId): Promise<WorkflowSummary | undefined> {
    return (await this.read(readWorkflow(workflow))).map(workflowOf)[0];
  }

  async workflows(query: WorkflowQuery): Promise<readonly WorkflowSummary[]> {
    return (await this.read(readWorkflows(query))).map(workflowOf);
  }

  search(query: WorkflowSearch): Promise<readonly WorkflowListing[]> {
    return this.#guarded(() => this.#searching.search(query));
  }

  statusCounts(...of: Parameters<RowStore['statusCounts']>) {
    return this.#guarded(() => this.#searching.statusCounts(...of));
  }

  parkedCounts(limit: number) {
    return this.#guarded(() => this.#searching.parkedCounts(limit));
  }

  queueCounts(...of: Parameters<RowStore['queueCounts']>) {
    return this.#guarded(() => this.#searching.queueCounts(...of));
  }

  generations(...of: Parameters<RowStore['generations']>) {
    return this.#guarded(() => this.#searching.generations(...of));
  }

  moving(...of: Parameters<RowStore['moving']>) {
    return this.#guarded(() => this.#searching.moving(...of));
  }

  spentHours(...of: Parameters<RowStore['spentHours']>) {
    return this.#guarded(() => this.#searching.spentHours(...of));
  }

  async childWork(limit: number, skip = 0): Promise<readonly ChildWork[]> {
    return (await this.read(readChildWork(limit, skip))).map(childWorkOf);
  }

  async children(query: ChildQuery): Promise<readonly WorkflowListing[]> {
    return (await this.read(readChildren(query))).map(listingOf);
  }

  async pendingContinuations(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]> {
    return (await this.read(pendingContinuations(after, limit))).map(continuingOf);
  }

  async continuationsBegun(workflows: readonly WorkflowId[]): Promise<void> {
    await this.read(continuationsBegun(workflows));
  }

  async approvals(query: ApprovalQuery & { readonly limit: number }): Promise<readonly ApprovalRow[]> {
    return (await this.read(readApprovals(query))).map(approvalOf);
  }

  async counts(): Promise<StoreCounts> {
    const [row = []] = await this.read(coordinate.readCounts);
    return coordinate.countsOf(row);
  }

  memories(query: MemoryQuery): Promise<readonly MemoryRow[]> {
    return this.#guarded(() => this.#memories.memories(query));
  }

  memoriesWrittenBy(query: WrittenQuery): Promise<readonly MemoryName[]> {
    return this.#guarded(() => this.#memories.memoriesWrittenBy(query));
  }

  scrub(): Promise<readonly UnscrubbedTable[]> {
    return this.#guarded(() => scrubTables(this.#client, this.kind));
  }

  async lamportOf(tenant: TenantId, subject: string): Promise<Lamport> {
    return numberAt((await this.read(readLamportOf(tenant, subject)))[0] ?? [], 0) as Lamport;
  }

  recall(query: RecallQuery): Promise<readonly RecalledMemory[]> {
    return this.#guarded(() => this.#memories.recall(query));
  }

  unembedded(model: string, limit: number, after = 0): Promise<readonly UnembeddedMemory[]> {
    return this.#guarded(() => this.#memories.unembedded(model, limit, after));
  }

  putEmbeddings(rows: readonly MemoryEmbedding[]): Promise<void> {
    return this.#guarded(() => this.#memories.putEmbeddings(rows));
  }

  nowMs(): Promise<number> {
    return this.#guarded(() => this.#tiers.nowMs());
  }

  floors(...of: Parameters<RowStore['floors']>): Promise<readonly PartitionFloor[]> {
    return this.#guarded(() => this.#tiers.floors(...of));
  }

  recordSegments(segments: readonly SegmentRow[]): Promise<void> {
    return this.#guarded(() => this.#tiers.recordSegments(segments));
  }

  setTier(...of: Parameters<RowStore['setTier']>): Promise<void> {
    return this.#guarded(() => this.#tiers.setTier(...of));
  }

  recordedEvents(partition: Partition, to: Offset): Promise<number> {
    return this.#guarded(() => this.#tiers.recordedEvents(partition, to));
  }

  segmentTenants(): Promise<readonly TenantId[]> {
    return this.#guarded(() => this.#tiers.segmentTenants());
  }

  forksOf(...of: Parameters<RowStore['forksOf']>): Promise<readonly WorkflowId[]> {
    return this.#guarded(() => this.#tiers.forksOf(...of));
  }

  isPast(...of: Parameters<RowStore['isPast']>): Promise<boolean> {
    return this.#guarded(() => this.#tiers.isPast(...of));
  }

  segments(query: SegmentQuery): Promise<readonly SegmentRow[]> {
    return this.#guarded(() => this.#tiers.segments(query));
  }

  dropRows(...of: Parameters<RowStore['dropRows']>): Promise<void> {
    return this.#guarded(() => this.#tiers.dropRows(...of));
  }

  withoutRows(workflows: readonly WorkflowId[]): Promise<readonly WorkflowId[]> {
    return this.#guarded(() => this.#tiers.withoutRows(workflows));
  }

  endedInSegments(...of: Parameters<RowStore['endedInSegments']>): Promise<readonly StreamPlace[]> {
    return this.#guarded(() => this.#tiers.endedInSegments(...of));
  }

  restoreRows(...of: Parameters<RowStore['restoreRows']>): Promise<void> {
    return this.#guarded(() => this.#tiers.restoreRows(...of));
  }

  storage(...of: Parameters<RowStore['storage']>): Promise<readonly StorageUse[]> {
    return this.#guarded(() => this.#tiers.storage(...of));
  }

  blobReferences(...of: Parameters<RowStore['blobReferences']>): Promise<readonly string[]> {
    return this.#guarded(() => this.#tiers.blobReferences(...of));
  }

  dropRestored(beforeMs: number, limit: number): Promise<number> {
    return this.#guarded(() => this.#tiers.dropRestored(beforeMs, limit));
  }

  async tracedTo(): Promise<ReadonlyMap<Partition, Offset>> {
    const statements = [traced.BEGIN_TRACED, traced.READ_TRACED];
    const [, rows = []] = await this.#guarded(() => this.#client.run(statements));
    return new Map(rows.map(traced.tracedOf));
  }

  async advanceTraced(to: ReadonlyMap<Partition, Offset>): Promise<void> {
    if (to.size > 0) await this.read(traced.advanceTraced(to));
  }

  async close(): Promise<void> {
    await this.#client.close();
    await this.#options.closed();
  }

  protected override async read(statement: Statement): Promise<Rows> {
    const [rows = []] = await this.#guarded(() => this.#client.run([statement]));
    return rows;
  }

  /** Throws as the port does, whatever the client throws. */
  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw faultOf(error, this.#options.address);
    }
  }
}
