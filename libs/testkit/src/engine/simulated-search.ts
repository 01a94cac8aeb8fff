/** Owns finding workflows in the simulated store, as the contract has it. Must not be used outside tests. */

import {
  CONTINUED,
  type Generation,
  isSystemDefinition,
  type Partition,
  SUPERSEDED,
  type TenantId,
  type WorkflowId,
} from '@tidemark/core';
import {
  type ChildQuery,
  type ChildWork,
  type FailureCount,
  type ParkedCount,
  type QueueCount,
  type SpentHour,
  type StatusCount,
  searchWords,
  type WorkflowListing,
  type WorkflowSearch,
  type WorkflowSummary,
} from '@tidemark/ports';
import { childWorkIn } from './simulated-children.ts';
import { type Rows, summaryOf } from './simulated-rows.ts';
import { SimulatedTiers } from './simulated-tiers.ts';

export abstract class SimulatedSearch extends SimulatedTiers {
  /** Of continued ones, those that are known to have begun. */
  protected readonly begun = new Set<WorkflowId>();

  async search(query: WorkflowSearch): Promise<readonly WorkflowListing[]> {
    await this.enter('search');
    const found = searched(Array.from(this.rows.values(), withFailure), query) as readonly WithFailure[];
    return found.map(({ failure: _, state: __, ...row }) => row);
  }

  async statusCounts(tenant: TenantId | null): Promise<readonly StatusCount[]> {
    await this.enter('statusCounts');
    const listed = searched(Array.from(this.rows.values(), summaryOf), {
      tenant: tenant ?? undefined,
      limit: Number.POSITIVE_INFINITY,
    });
    return [...Map.groupBy(listed, ({ status }) => status)].map(([status, of]) => ({ status, count: of.length }));
  }

  async parkedCounts(limit: number): Promise<readonly ParkedCount[]> {
    await this.enter('parkedCounts');
    const parked = searched(Array.from(this.rows.values(), summaryOf), {
      status: 'parked',
      limit: Number.POSITIVE_INFINITY,
    });
    return [...Map.groupBy(parked, ({ reason }) => reason)]
      .map(([reason, of]) => ({ reason, count: of.length }))
      .sort((a, b) => b.count - a.count || byReason(a.reason, b.reason))
      .slice(0, limit);
  }

  async failureCounts(
    { tenant, definition }: Pick<WorkflowSearch, 'tenant' | 'definition'>,
    limit: number,
  ): Promise<readonly FailureCount[]> {
    await this.enter('failureCounts');
    const all = searched(Array.from(this.rows.values(), withFailure), {
      ...{ tenant, definition },
      limit: Number.POSITIVE_INFINITY,
    }) as readonly WithFailure[];
    return [
      ...Map.groupBy(
        all.filter(({ failure }) => failure !== undefined),
        ({ failure }) => failure!,
      ),
    ]
      .map(([fingerprint, rows]) => {
        const { workflow: newest, updatedAtMs, state } = rows[0]!;
        const of = (wanted: string): number => rows.filter(({ status }) => status === wanted).length;
        const counts = { count: rows.length, parkedCount: of('parked'), failedCount: of('failed') };
        return { fingerprint, ...counts, newest, updatedAtMs, state };
      })
      .sort((a, b) => b.count - a.count || (a.fingerprint < b.fingerprint ? -1 : 1))
      .slice(0, limit);
  }

  async queueCounts(tenant: TenantId | null, limit: number): Promise<readonly QueueCount[]> {
    await this.enter('queueCounts');
    const queued = Array.from(this.rows.values(), summaryOf)
      .filter((row) => (row.runnable || row.holder !== null) && !isSystemDefinition(row.definition))
      .filter((row) => tenant === null || row.tenant === tenant);
    return [...Map.groupBy(queued, ({ definition, tenant: of }) => `${definition}\u0000${of}`)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, limit)
      .map(([, of]) => ({
        ...{ definition: of[0]!.definition, tenant: of[0]!.tenant },
        readyCount: of.filter(({ runnable }) => runnable).length,
        runningCount: of.filter(({ holder }) => holder !== null).length,
      }));
  }

  async generations(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Generation>> {
    await this.enter('generations');
    const known = Array.from(this.partitions, ([partition, { generation }]) => [partition, generation] as const);
    return new Map(known.filter(([partition]) => partitions?.includes(partition) ?? true));
  }

  async moving(since: ReadonlyMap<Partition, Generation>, limit: number): Promise<readonly WorkflowListing[]> {
    await this.enter('moving');
    const isMoving = ({ partition, closedInGeneration }: WorkflowListing): boolean =>
      since.has(partition) && (closedInGeneration === null || closedInGeneration >= since.get(partition)!);
    return Array.from(this.rows.values(), summaryOf).filter(isMoving).slice(0, limit);
  }

  async childWork(limit: number, skip = 0): Promise<readonly ChildWork[]> {
    await this.enter('childWork');
    return childWorkIn(this.rows).slice(skip, skip + limit);
  }

  async pendingContinuations(after: WorkflowId | null, limit: number): Promise<readonly WorkflowId[]> {
    await this.enter('pendingContinuations');
    const isPendingContinuation = ({ workflow, status, reason }: WorkflowSummary): boolean =>
      status === 'completed' &&
      (reason === CONTINUED || reason === SUPERSEDED) &&
      !this.begun.has(workflow) &&
      workflow > (after ?? '');
    return Array.from(this.rows.values(), summaryOf)
      .filter(isPendingContinuation)
      .map(({ workflow }) => workflow)
      .sort()
      .slice(0, limit);
  }

  async continuationsBegun(workflows: readonly WorkflowId[]): Promise<void> {
    await this.enter('continuationsBegun');
    for (const workflow of workflows) this.begun.add(workflow);
  }

  async children({ parent, after, limit }: ChildQuery): Promise<readonly WorkflowListing[]> {
    await this.enter('children');
    const isChild = ({ workflow }: WorkflowListing): boolean =>
      workflow.startsWith(`${parent}~`) && /^\d+\.\d+$/.test(workflow.slice(parent.length + 1));
    return Array.from(this.rows.values(), summaryOf)
      .filter((row) => isChild(row) && row.workflow > (after ?? ''))
      .sort((a, b) => (a.workflow < b.workflow ? -1 : 1))
      .slice(0, limit);
  }

  async spentHours(): Promise<readonly SpentHour[]> {
    await this.enter('spentHours');
    return [];
  }
}

type WithFailure = WorkflowSummary & { readonly failure: string | undefined; readonly state: string };

const withFailure = (row: Rows): WithFailure => {
  const { state } = row.stream;
  return { ...summaryOf(row), state, failure: /"failure":\{"fingerprint":"([0-9a-f]{12})"/.exec(state)?.[1] };
};

/** Null comes last. */
const byReason = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null || (b !== null && a > b) ? 1 : -1;

function searched(rows: readonly WorkflowSummary[], query: WorkflowSearch): readonly WorkflowListing[] {
  const {
    after,
    text,
    tags = [],
    openedFromMs = Number.NEGATIVE_INFINITY,
    openedToMs = Number.POSITIVE_INFINITY,
  } = query;
  const wanted = ['tenant', 'status', 'reason', 'session', 'user'] as const;
  const words = searchWords(text);
  const isFound = (row: WorkflowSummary): boolean =>
    wanted.every((field) => query[field] === undefined || row[field] === query[field]) &&
    (query.failure === undefined || (row as Partial<WithFailure>).failure === query.failure) &&
    (query.roots !== true || !/~(\d+\.\d+(~\d+)?|undo)$/.test(row.workflow)) &&
    (query.definition === undefined ? !isSystemDefinition(row.definition) : row.definition === query.definition) &&
    tags.every((tag) => row.tags?.includes(tag)) &&
    row.openedAtMs >= openedFromMs &&
    row.openedAtMs < openedToMs &&
    (text === undefined || words.length > 0) &&
    words.every((word) => wordsOf(row).some((own) => own.startsWith(word))) &&
    (after === undefined || newestFirst(after, row) < 0);
  return rows.filter(isFound).sort(newestFirst).slice(0, query.limit);
}

const wordsOf = ({ workflow, definition, session, user, tags = [] }: WorkflowListing): readonly string[] =>
  searchWords(workflow, definition, session, user, ...tags);

type Placed = Pick<WorkflowListing, 'openedAtMs' | 'workflow'>;
export const newestFirst = (a: Placed, b: Placed): number =>
  b.openedAtMs - a.openedAtMs || (a.workflow < b.workflow ? -1 : a.workflow > b.workflow ? 1 : 0);
