/**
 * Owns a ProjectionStore in memory for tests, the runtime's own and those of users' workflows: it keeps P1 to P3 as the contract has them,
 * and each of its operations can be made to wait or to fail. It survives nothing. Must not be used outside tests.
 */

import {
  ConflictError,
  type Generation,
  isSystemDefinition,
  type Offset,
  type Partition,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type {
  ApprovalQuery,
  ApprovalRow,
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
  StreamRow,
  StreamSnapshot,
  WorkflowQuery,
  WorkflowSummary,
} from '@tidemark/ports';
import { SCHEDULE_SUFFIX } from '@tidemark/runtime/names';
import { approvalsIn } from './simulated-approvals.ts';
import { SimulatedHistory } from './simulated-history.ts';
import { partitionFor, placementOf, refusalOf } from './simulated-placing.ts';
import { SimulatedRanges } from './simulated-ranges.ts';
import {
  byDue,
  byRank,
  type PlacedRow,
  putRows,
  refuseTwoHomes,
  snapshotOf,
  summaryOf,
  withoutStrays,
} from './simulated-rows.ts';
import { newestFirst } from './simulated-search.ts';

type Operation = Exclude<keyof RowStore, 'kind'>;
type Hook = () => unknown;

/** As the stores of servers keep it. */
const EVIDENCE_MAX_CHARS = 2_000;

export class SimulatedStore extends SimulatedHistory implements RowStore {
  readonly kind = 'pglite';
  readonly batches: ProjectionBatch[] = [];
  /** Calls of each operation. */
  readonly calls = new Map<Operation, number>();
  /** Given to every caller instead of a share. */
  ranges: readonly number[] | undefined;
  readonly #ranges: Record<RangeRole, SimulatedRanges> = {
    project: new SimulatedRanges(),
    compact: new SimulatedRanges(),
  };
  #ready = false;
  #lostCount = 0;
  readonly #hooks = new Map<Operation, Hook>();

  constructor(partitionCount = 0) {
    super();
    for (let at = 0; at < partitionCount; at++)
      this.#addPartition({ partition: at as Partition, start: 0 as Offset, rebuildTo: 0 as Offset });
    this.#ready = partitionCount > 0;
  }

  /** Runs before each call of the operation: it may wait, or throw. Undefined removes it. */
  on(operation: Operation, hook: Hook | undefined): void {
    if (hook === undefined) this.#hooks.delete(operation);
    else this.#hooks.set(operation, hook);
  }

  /** The next call of the operation fails with the error. */
  failOnce(operation: Operation, error: unknown): void {
    this.on(operation, () => {
      this.on(operation, undefined);
      throw error;
    });
  }

  protected override enter(operation: Operation): Promise<void> {
    return this.#enter(operation);
  }

  async #enter(operation: Operation): Promise<void> {
    this.calls.set(operation, (this.calls.get(operation) ?? 0) + 1);
    await this.#hooks.get(operation)?.();
  }

  /** Everything is lost, as after a dropped database. */
  drop(): void {
    this.partitions.clear();
    this.rows.clear();
    this.placements.clear();
    this.rejectedRows.length = 0;
    this.memory.clear();
    this.loseContext();
    this.loseTiers();
    this.begun.clear();
    for (const ranges of Object.values(this.#ranges)) ranges.clear();
    this.#ready = false;
    this.#lostCount++;
  }

  #addPartition({ partition, start, rebuildTo, generation = 0 as Generation }: NewPartition): void {
    if (this.partitions.has(partition)) return;
    this.partitions.set(partition, { next: start, generation, placedGeneration: generation, rebuildTo });
  }

  async ensure(): Promise<void> {
    await this.#enter('ensure');
  }

  async storeId(): Promise<string> {
    await this.#enter('storeId');
    return String(this.#lostCount);
  }

  async ready(): Promise<boolean> {
    await this.#enter('ready');
    return this.#ready;
  }

  async addPartitions(added: readonly NewPartition[], storeId?: string): Promise<void> {
    await this.#enter('addPartitions');
    if (storeId !== undefined && storeId !== String(this.#lostCount)) return;
    for (const partition of added) this.#addPartition(partition);
    this.#ready = this.#isRebuilt();
  }

  async markReady(): Promise<boolean> {
    await this.#enter('markReady');
    this.#ready ||= this.#isRebuilt();
    return this.#ready;
  }

  #isRebuilt(): boolean {
    return this.partitions.size > 0 && [...this.partitions.values()].every((row) => row.next >= row.rebuildTo);
  }

  async shareRanges(owner: string, ttlMs: number, role: RangeRole = 'project'): Promise<readonly number[]> {
    await this.#enter('shareRanges');
    return this.ranges ?? this.#ranges[role].share(owner, ttlMs, this.clock());
  }

  async releaseRanges(owner: string): Promise<void> {
    await this.#enter('releaseRanges');
    for (const ranges of Object.values(this.#ranges)) ranges.release(owner);
  }

  async positions(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Offset>> {
    await this.#enter('positions');
    const wanted = partitions ?? [...this.partitions.keys()];
    return new Map(
      wanted.flatMap((partition) => {
        const row = this.partitions.get(partition);
        return row === undefined ? [] : [[partition, row.next] as const];
      }),
    );
  }

  async loadPartitions(partitions: readonly Partition[]): Promise<readonly FoldedPartition[]> {
    await this.#enter('loadPartitions');
    const sorted = [...partitions].sort((a, b) => a - b);
    return sorted.flatMap((partition) => {
      const row = this.partitions.get(partition);
      if (row === undefined) return [];
      const streams = [...this.rows.values()]
        .filter(({ stream }) => stream.partition === partition)
        .filter(({ stream }) => stream.closedInGeneration === null || stream.closedInGeneration === row.generation)
        .map(({ stream, tasks }) => ({ state: stream.state, tasks: byRank(tasks).map((task) => task.state) }));
      return [{ partition, next: row.next, generation: row.generation, streams }];
    });
  }

  async apply(batch: ProjectionBatch): Promise<void> {
    await this.#enter('apply');
    refuseTwoHomes(batch);
    if (batch.storeId !== undefined && batch.storeId !== String(this.#lostCount)) {
      throw new ConflictError('projection-moved', 'The rows were rebuilt.');
    }
    for (const { partition, from } of batch.partitions) {
      if (this.partitions.get(partition)?.next !== from) {
        throw new ConflictError('projection-moved', `Partition ${partition} is not at ${from}.`);
      }
    }
    this.batches.push(batch);
    for (const { partition, to, generation } of batch.partitions) {
      Object.assign(this.partitions.get(partition)!, { next: to, generation });
    }
    const own = withoutStrays(batch, this.placements);
    this.#open(own);
    putRows(this.rows, own);
    this.#close(own);
    this.#reject(own);
    this.memory.put(own.memories ?? []);
    if (own.context !== undefined) this.applyContext(own.context);
  }

  #reject({ rejected }: ProjectionBatch): void {
    for (const row of rejected) {
      if (this.rejectedRows.some(({ partition, offset }) => partition === row.partition && offset === row.offset))
        continue;
      const [workflow, evidence] = [row.workflow, row.evidence].map((text) => text?.replaceAll('\0', '\ufffd') ?? null);
      this.rejectedRows.push({ ...row, workflow: workflow!, evidence: evidence!.slice(0, EVIDENCE_MAX_CHARS) });
    }
  }

  #open(batch: ProjectionBatch): void {
    for (const opened of batch.opened) {
      const known = this.placements.get(opened.workflow);
      if (known !== undefined) {
        Object.assign(known, { appended: true, opening: '', session: known.session ?? opened.session });
      } else {
        const mode = 'exclusive' as const;
        const live = true;
        this.placements.set(opened.workflow, { ...opened, mode, opening: '', placedAtMs: 0, appended: true, live });
      }
    }
  }

  #close(batch: ProjectionBatch): void {
    for (const { workflow, result } of batch.closed) {
      const rows = this.rows.get(workflow);
      const placement = this.placements.get(workflow);
      if (placement !== undefined) placement.live = false;
      if (rows === undefined) continue;
      rows.result = result;
      rows.tasks.clear();
      rows.timers.clear();
    }
  }

  async loadStreams(workflows: readonly WorkflowId[]): Promise<readonly StreamSnapshot<RecordPlace>[]> {
    await this.#enter('loadStreams');
    this.mustBeReady();
    return [...new Set(workflows)].flatMap((workflow) => {
      const rows = this.rows.get(workflow);
      if (rows === undefined) return [];
      return [snapshotOf(rows, this.partitions.get(rows.stream.partition)!.next)];
    });
  }

  protected override mustBeReady(): void {
    if (!this.#ready) throw new UnavailableError('store-rebuilding', 'Placements are being rebuilt.');
  }

  async place(requests: readonly PlacementRequest[], rules: PlacementRules = {}): Promise<readonly Placed[]> {
    await this.#enter('place');
    this.mustBeReady();
    const distinct = new Map(requests.toReversed().map((request) => [request.workflow, request]));
    return [...distinct.values()].toReversed().flatMap((request): Placed[] => {
      const known = this.placements.get(request.workflow);
      if (known !== undefined) return [placementOf(known, false)];
      const takenBy = this.#liveOf(request) ?? request.unless?.find((each) => this.placements.has(each));
      if (takenBy !== undefined) return [{ workflow: request.workflow, takenBy }];
      const refusedBy = refusalOf(request, rules, this.placements.values());
      if (refusedBy !== undefined) return [{ workflow: request.workflow, refusedBy }];
      const partition = partitionFor(request, rules, [...this.partitions.keys()], this.placements.values());
      if (partition === undefined) return [];
      const row = this.partitions.get(partition)!;
      row.placedGeneration = Math.max(row.placedGeneration, row.generation) + 1;
      const generation = row.placedGeneration as Generation;
      const placed = { ...request, partition, generation, appended: false, live: true, placedAtMs: this.clock() };
      this.placements.set(request.workflow, placed);
      return [placementOf(placed, true)];
    });
  }

  #liveOf({ session, tenant }: PlacementRequest): WorkflowId | undefined {
    if (session === null) return undefined;
    const all = [...this.placements.values()];
    return all.find((placed) => placed.live && placed.session === session && placed.tenant === tenant)?.workflow;
  }

  async placed(workflow: WorkflowId): Promise<PlacedWorkflow | undefined> {
    await this.#enter('placed');
    return this.placements.get(workflow);
  }

  async unappended(ageMs: number, limit: number): Promise<readonly Placement[]> {
    await this.#enter('unappended');
    const dueMs = this.clock() - ageMs;
    const old = [...this.placements.values()].filter(({ appended, placedAtMs }) => !appended && placedAtMs <= dueMs);
    for (const placement of old) this.#renewPlacement(placement);
    return old
      .sort((a, b) => a.generation - b.generation || a.partition - b.partition)
      .slice(0, limit)
      .map((placement) => placementOf(placement, false));
  }

  /** An opening whose generation the fold has passed would be rejected permanently. */
  #renewPlacement(placement: PlacedRow): void {
    const row = this.partitions.get(placement.partition);
    if (row === undefined || row.generation < placement.generation) return;
    row.placedGeneration = Math.max(row.placedGeneration, row.generation) + 1;
    placement.generation = row.placedGeneration as Generation;
  }

  async runnable(after: WorkflowId | null, limit: number, known?: KnownDispatches): Promise<readonly RunnableStream[]> {
    await this.#enter('runnable');
    return this.#streams()
      .filter((stream) => stream.runnable && stream.workflow > (after ?? ''))
      .slice(0, limit)
      .map((stream) => {
        const { workflow, tenant, definition, version, pinned, partition, lamport, epoch } = stream;
        const { dispatch } = known?.get(workflow) ?? (JSON.parse(stream.state) as Pick<RunnableStream, 'dispatch'>);
        const { next } = this.partitions.get(partition)!;
        const row = { workflow, tenant, definition, version, pinned, partition, next, lamport, epoch };
        return dispatch === undefined ? row : { ...row, dispatch };
      });
  }

  async openWorkflows(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]> {
    await this.#enter('openWorkflows');
    const open = this.#streams().filter(
      ({ closedInGeneration, definition }) => closedInGeneration === null && !isSystemDefinition(definition),
    );
    return open.flatMap(({ workflow }) => (workflow > (after ?? '') ? [workflow] : [])).slice(0, limit);
  }

  async leases(): Promise<readonly LeaseRow[]> {
    await this.#enter('leases');
    return this.#streams().flatMap(({ workflow, tenant, definition, partition, generation, epoch, holder }) =>
      holder === null ? [] : [{ workflow, tenant, definition, partition, generation, epoch, holder }],
    );
  }

  async dueTimers(nowMs: number, limit: number, after?: DueTimer): Promise<readonly DueTimer[]> {
    await this.#enter('dueTimers');
    const due = [...this.rows.values()].flatMap(({ timers, stream }) =>
      [...timers.values()]
        .filter((timer) => timer.dueAtMs <= nowMs)
        .map((timer) => ({ ...timer, tenant: stream.tenant, generation: stream.generation })),
    );
    const later = after === undefined ? due : due.filter((timer) => byDue(timer, after) > 0);
    return later.sort(byDue).slice(0, limit);
  }

  #streams(): StreamRow[] {
    return [...this.rows.values()].map(({ stream }) => stream).sort((a, b) => (a.workflow < b.workflow ? -1 : 1));
  }

  async workflow(workflow: WorkflowId): Promise<WorkflowSummary | undefined> {
    await this.#enter('workflow');
    const rows = this.rows.get(workflow);
    return rows === undefined ? undefined : summaryOf(rows);
  }

  async workflows(query?: WorkflowQuery): Promise<readonly WorkflowSummary[]> {
    await this.#enter('workflows');
    const { tenant, definition, schedules, status, reason, after, limit } = query ?? {
      limit: Number.POSITIVE_INFINITY,
    };
    return Array.from(this.rows.values(), summaryOf)
      .filter((row) => tenant === undefined || row.tenant === tenant)
      .filter((row) => (definition === undefined ? !isSystemDefinition(row.definition) : row.definition === definition))
      .filter((row) => schedules !== true || row.definition.endsWith(SCHEDULE_SUFFIX))
      .filter((row) => status === undefined || row.status === status)
      .filter((row) => reason === undefined || row.reason === reason)
      .filter((row) => after === undefined || newestFirst(after, row) < 0)
      .sort(newestFirst)
      .slice(0, limit);
  }

  async approvals(query: ApprovalQuery & { readonly limit: number }): Promise<readonly ApprovalRow[]> {
    await this.#enter('approvals');
    return approvalsIn([...this.rows.values()], query);
  }

  async counts(): Promise<StoreCounts> {
    await this.#enter('counts');
    const streams = this.#streams();
    const placements = [...this.placements.values()];
    return {
      partitionCount: this.partitions.size,
      openCount: placements.filter((placement) => placement.live).length,
      leasedCount: streams.filter((stream) => stream.holder !== null).length,
      runnableCount: streams.filter((stream) => stream.runnable).length,
      rejectedCount: this.rejectedRows.length,
      unappendedCount: placements.filter((placement) => !placement.appended).length,
    };
  }

  async close(): Promise<void> {
    await this.#enter('close');
  }
}
