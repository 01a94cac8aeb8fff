/** Owns the simulated store's reads of histories, whole and page by page, as the contract has them. Must not be used outside tests. */

import {
  compareTasks,
  type Position,
  type Sequence,
  type TaskId,
  type TenantId,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
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
import { byRank } from './simulated-rows.ts';
import { SimulatedSearch } from './simulated-search.ts';

export abstract class SimulatedHistory extends SimulatedSearch implements HistoryStore<RecordPlace> {
  protected abstract mustBeReady(): void;

  #mustHold(workflow: WorkflowId, since: Position | undefined): void {
    if (since === undefined || (this.rows.get(workflow)?.stream.position ?? 0) >= since) return;
    throw new UnavailableError('store-rebuilding', 'The rows have gone back.');
  }

  async tasks(workflow: WorkflowId, limit: number, after: TaskId | null = null): Promise<readonly TaskRow[]> {
    await this.enter('tasks');
    return byRank(this.rows.get(workflow)?.tasks ?? new Map())
      .filter(({ task }) => after === null || compareTasks(task, after) > 0)
      .slice(0, limit);
  }

  async frontiers(workflows: readonly WorkflowId[], limit: number): Promise<ReadonlyMap<WorkflowId, FoldedStream>> {
    await this.enter('frontiers');
    const found = workflows.flatMap((workflow) => this.rows.get(workflow) ?? []);
    return new Map(
      found
        .filter(({ stream }) => stream.closedInGeneration === null && stream.state !== '')
        .map(({ stream, tasks }) => {
          const first = byRank(tasks).slice(0, limit);
          return [stream.workflow, { state: stream.state, tasks: first.map(({ state }) => state) }];
        }),
    );
  }

  async checkpoints(
    workflow: WorkflowId,
    {
      from,
      limit,
      step,
      since,
    }: { readonly from: Sequence; readonly limit: number; readonly step?: string; readonly since?: Position },
  ): Promise<readonly CheckpointRow<RecordPlace>[]> {
    await this.enter('checkpoints');
    this.mustBeReady();
    this.#mustHold(workflow, since);
    return (this.rows.get(workflow)?.checkpoints ?? [])
      .filter((row) => row.sequence >= from && (step === undefined || row.step === step))
      .sort((a, b) => a.sequence - b.sequence)
      .slice(0, limit);
  }

  async effects(
    workflow: WorkflowId,
    { task, since }: { readonly task?: TaskId; readonly since?: Position } = {},
  ): Promise<readonly EffectRow<RecordPlace>[]> {
    await this.enter('effects');
    this.mustBeReady();
    this.#mustHold(workflow, since);
    const rows = [...(this.rows.get(workflow)?.effects.values() ?? [])];
    return rows.filter((row) => task === undefined || row.task === task).sort((a, b) => a.position - b.position);
  }

  async effectPage(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit: number },
  ): Promise<readonly EffectRow<RecordPlace>[]> {
    await this.enter('effectPage');
    return this.#effectsIn(workflow, query).slice(0, query.limit);
  }

  async effectListings(
    workflow: WorkflowId,
    query: EffectQuery & { readonly limit?: number | undefined },
  ): Promise<readonly EffectListing[]> {
    await this.enter('effectListings');
    const found = this.#effectsIn(workflow, query).slice(0, query.limit);
    return found.map(({ payload: _, request: __, ...listing }) => listing);
  }

  #effectsIn(workflow: WorkflowId, { tasks, operation, key, after }: EffectQuery): readonly EffectRow<RecordPlace>[] {
    this.mustBeReady();
    return [...(this.rows.get(workflow)?.effects.values() ?? [])]
      .filter((row) => tasks === undefined || tasks.includes(row.task))
      .filter((row) => operation === undefined || row.operation === operation)
      .filter((row) => key === undefined || row.key === key)
      .filter((row) => after === undefined || byTask(row, after) > 0)
      .sort(byTask);
  }

  async commits(workflow: WorkflowId, tasks: readonly TaskId[]): Promise<readonly TaskCommit[]> {
    await this.enter('commits');
    this.mustBeReady();
    return (this.rows.get(workflow)?.checkpoints ?? []).flatMap(({ task, sequence }) =>
      task !== null && tasks.includes(task) ? [{ task, sequence }] : [],
    );
  }

  async corrections(workflow: WorkflowId, sequences: readonly Sequence[]): Promise<readonly Correction[]> {
    await this.enter('corrections');
    this.mustBeReady();
    const newest = new Map<Sequence, Sequence>();
    for (const { sequence, supersedes } of this.rows.get(workflow)?.checkpoints ?? [])
      if (supersedes !== null && sequences.includes(supersedes)) newest.set(supersedes, sequence);
    return Array.from(newest, ([supersedes, sequence]) => ({ supersedes, sequence })).sort(
      (a, b) => a.supersedes - b.supersedes,
    );
  }

  async events(
    workflow: WorkflowId,
    limit: number,
    { event, position, before }: EventQuery = {},
  ): Promise<readonly EventRow<RecordPlace>[]> {
    await this.enter('events');
    return (this.rows.get(workflow)?.events ?? [])
      .filter((row) => event === undefined || row.event === event)
      .filter((row) => position === undefined || row.position === position)
      .filter((row) => before === undefined || row.position < before)
      .sort((a, b) => a.position - b.position)
      .slice(-limit);
  }

  async rejected(
    limit: number,
    tenant: TenantId | null = null,
    after: RejectedPlace | null = null,
  ): Promise<readonly RejectedRow[]> {
    await this.enter('rejected');
    const isOf = ({ workflow }: RejectedRow): boolean =>
      tenant === null || this.rows.get(workflow as WorkflowId)?.stream.tenant === tenant;
    return this.rejectedRows
      .filter((row) => isOf(row) && (after === null || newest(row, after) > 0))
      .sort(newest)
      .slice(0, limit);
  }
}

type Keyed = Pick<EffectRow, 'task' | 'key'>;
const byTask = (a: Keyed, b: Keyed): number =>
  compareTasks(a.task, b.task) || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

const newest = (a: RejectedPlace, b: RejectedPlace): number =>
  b.atMs - a.atMs || a.partition - b.partition || b.offset - a.offset;
