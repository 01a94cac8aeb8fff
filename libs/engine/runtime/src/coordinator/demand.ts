/**
 * Owns the amount of work for each pool of workers: leased, waiting, and left by dead workers. It keeps it in memory from what the
 * coordinator reads and writes anyway, so a query costs no statement (decision 0037). It reads nothing itself.
 *
 * D1 A workflow counts until rows show its end: a busy worker is never mistaken for an idle one, and work that a dead worker left is never
 *    missed.
 * D2 For partitions that are projected here it is as new as their rows; for others, as the last polls of runnable workflows and of leases.
 *    It is not reported when those polls are older than `DEMAND_STALE_MS`.
 * D3 A doubtful workflow counts: one that is missing from one poll may have moved to what the other poll sees, so it is dropped only when
 *    both polls have missed it `DEMAND_MISSES` times.
 */

import {
  type Dispatch,
  type HolderId,
  InvalidError,
  isSystemDefinition,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { Clock, LeaseRow, RunnableStream, StreamRow } from '@tidemark/ports';
import { PausedQueues } from '../control/index.ts';
import { queuedAs } from '../lease/index.ts';
import { Beginnings, type Limits, limitsOf } from './demand-limits.ts';
import { DemandTallies } from './demand-tallies.ts';
import { DEMAND_MISSES, DEMAND_STALE_MS } from './limits.ts';

/** A group of workers that take the same work. */
export interface Pool {
  readonly name: string;
  /** Definitions whose work they take; null: any. */
  readonly definitions: ReadonlySet<string> | null;
}

/** The only pool when none are named: all workers. */
export const ONE_POOL: Pool = { name: 'default', definitions: null };

export interface PoolDemand {
  readonly pool: string;
  /** Workflows that living workers lease. */
  readonly inFlightCount: number;
  /** Workflows that are runnable and not leased. */
  readonly backlogCount: number;
  /** Workflows of dead workers that no other worker has claimed yet. */
  readonly recoveryDebtCount: number;
  /** The sum of the three: the workflows that need a place at a worker. */
  readonly demandCount: number;
  /** Living workers that lease at least one workflow. */
  readonly busyWorkerCount: number;
  /** Workflows that would be runnable if their queue were not paused; no part of the demand, because no worker may take them. */
  readonly heldCount: number;
  /** Workflows that would be runnable if their limits were not reached; no part of the demand, because more workers would not help. */
  readonly limitedCount: number;
}

export interface Demands {
  readonly pools: readonly PoolDemand[];
  /** Demand for which no pool is named. */
  readonly unassignedCount: number;
  /** Age of the oldest poll that it rests on, in milliseconds. */
  readonly ageMs: number;
}

type Living = ReadonlyMap<HolderId, unknown>;

/** A workflow with work. Leased at an epoch comes before runnable at the same epoch, because a claim raises it. */
interface Entry {
  readonly definition: string;
  readonly tenant: StreamRow['tenant'];
  readonly epoch: number;
  /** Null: it is not leased. */
  readonly holder: HolderId | null;
  /** A dead worker had it at this epoch. */
  readonly isDebt: boolean;
  /** Absent: none, or not seen yet, because leases do not have it. It never changes. */
  readonly dispatch: Dispatch | undefined;
  readonly limits: Limits | null;
  /**
   * Since when no living worker leases it, as far as this process saw (monotonic milliseconds); for a leased workflow, since when it is
   * leased.
   */
  readonly sinceMs: number;
  /** The number of the poll or write that last saw it so. */
  readonly at: number;
}

interface Missed {
  runnable: number;
  leases: number;
}

/** One poll of the rows. Anything written after the poll began is newer than what it finds. */
export interface DemandPoll {
  /** Reports all runnable workflows. */
  foundRunnable(streams: readonly RunnableStream[], held: PausedQueues): void;
  /** Reports all leases; `living` where the living workers are known. */
  foundLeases(leases: readonly LeaseRow[], living: Living | undefined): void;
  end(): void;
}

export class Demand {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #pools: readonly Pool[];
  readonly #entries = new Map<WorkflowId, Entry>();
  readonly #missed = new Map<WorkflowId, Missed>();
  readonly #tallies = new DemandTallies();
  readonly #beginnings = new Beginnings();
  /** Numbers of the polls that are running; ends are remembered until those polls are over. */
  readonly #polls = new Set<number>();
  readonly #ended = new Map<WorkflowId, number>();
  #at = 0;
  #held = new PausedQueues([]);
  /** When the newest complete poll of each kind began, on the monotonic clock. */
  #polledMs = { runnable: Number.NEGATIVE_INFINITY, leases: Number.NEGATIVE_INFINITY };

  /** Throws `InvalidError` (`pool-twice`). */
  constructor(clock: Pick<Clock, 'monotonicMs'>, pools: readonly Pool[] = [ONE_POOL]) {
    this.#clock = clock;
    this.#pools = pools;
    const names = pools.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new InvalidError('pool-twice', `The pool '${twice}' is named twice.`);
  }

  /** Reports streams that were just written to rows. */
  applied(streams: readonly StreamRow[]): void {
    const at = ++this.#at;
    for (const stream of streams) {
      const { workflow, definition, tenant, epoch, holder, runnable, dispatch } = stream;
      this.#missed.delete(workflow);
      if (holder !== null || runnable) this.#see(workflow, { definition, tenant, epoch, holder, at, dispatch });
      else this.#end(workflow, at);
    }
  }

  beginPoll(): DemandPoll {
    const number = ++this.#at;
    const beganMs = this.#clock.monotonicMs();
    this.#polls.add(number);
    const isNew = ({ workflow, order }: { readonly workflow: WorkflowId; readonly order: number }): boolean => {
      const entry = this.#entries.get(workflow);
      if (entry !== undefined && (entry.at > number || orderOf(entry) > order)) return false;
      return (this.#ended.get(workflow) ?? 0) < number;
    };
    return {
      foundRunnable: (streams, held) => {
        this.#held = held;
        const found = new Set<WorkflowId>();
        for (const { workflow, definition, tenant, epoch, dispatch } of streams) {
          found.add(workflow);
          const entry = { definition, tenant, epoch, holder: null, at: number, dispatch };
          if (isNew({ workflow, order: orderOf(entry) })) this.#see(workflow, entry);
        }
        this.#miss('runnable', number, found);
        this.#polledMs = { ...this.#polledMs, runnable: beganMs };
      },
      foundLeases: (leases, living) => {
        const found = new Set<WorkflowId>();
        for (const { workflow, definition, tenant, epoch, holder } of leases) {
          found.add(workflow);
          const entry = { definition, tenant, epoch, holder, at: number, dispatch: undefined };
          if (!isNew({ workflow, order: orderOf(entry) })) continue;
          this.#see(workflow, entry, living === undefined ? undefined : !living.has(holder));
        }
        this.#miss('leases', number, found);
        this.#polledMs = { ...this.#polledMs, leases: beganMs };
      },
      end: () => {
        this.#polls.delete(number);
        const oldest = Math.min(...this.#polls);
        for (const [workflow, at] of this.#ended) if (at < oldest) this.#ended.delete(workflow);
      },
    };
  }

  /** Rows were lost: nothing is reported until they have been polled again. */
  forget(): void {
    this.#polledMs = { runnable: Number.NEGATIVE_INFINITY, leases: Number.NEGATIVE_INFINITY };
    for (const workflow of [...this.#entries.keys()]) this.#put(workflow, undefined);
    this.#missed.clear();
  }

  /** Age of the oldest poll that it rests on; infinite where there was none. */
  get ageMs(): number {
    return this.#clock.monotonicMs() - Math.min(this.#polledMs.runnable, this.#polledMs.leases);
  }

  /** The demand of all pools. Throws `UnavailableError` (`demand-unknown`) where it isn't known (D2). */
  snapshot(): Demands {
    const { ageMs } = this;
    if (ageMs > DEMAND_STALE_MS) {
      const message = Number.isFinite(ageMs)
        ? `This coordinator's view of the work is ${Math.floor(ageMs / 1_000)} s old; try again.`
        : 'This coordinator has no view of the work yet; try again.';
      throw new UnavailableError('demand-unknown', message);
    }
    const sums = this.#tallies.sums(
      (definition) => this.#poolsOf(definition),
      (queued) => this.#held.has(queued),
      this.#beginnings.lately(this.#clock.monotonicMs()),
    );
    const pools = this.#pools.map(({ name }): PoolDemand => {
      const { inFlightCount, backlogCount, recoveryDebtCount, heldCount, limitedCount, holders } = sums.of(name);
      const demandCount = inFlightCount + backlogCount + recoveryDebtCount;
      const counts = { inFlightCount, backlogCount, recoveryDebtCount, demandCount, heldCount, limitedCount };
      return { pool: name, ...counts, busyWorkerCount: holders.size };
    });
    const unassigned = sums.of(null);
    const { inFlightCount, backlogCount, recoveryDebtCount } = unassigned;
    return { pools, unassignedCount: inFlightCount + backlogCount + recoveryDebtCount, ageMs };
  }

  /** The keys of limits that leave no room for workflows that wait, by the workflow, as far as is known. */
  limited(workflows: readonly WorkflowId[]): ReadonlyMap<WorkflowId, string> {
    const waiting = workflows.flatMap((workflow) => {
      const { holder = null, limits = null } = this.#entries.get(workflow) ?? {};
      return holder === null && limits !== null ? [{ workflow, limits }] : [];
    });
    if (waiting.length === 0) return new Map();
    const room = this.#tallies.room(this.#beginnings.lately(this.#clock.monotonicMs()));
    return new Map(
      waiting.flatMap(({ workflow, limits }) => {
        const key = room.full(limits);
        return key === undefined ? [] : [[workflow, key] as const];
      }),
    );
  }

  /** How long the oldest workflow of each pool has waited, in milliseconds; 0: none waits. Workflows of a paused queue do not count. */
  oldestAgesMs(): ReadonlyMap<string, number> {
    const nowMs = this.#clock.monotonicMs();
    const ages = new Map(this.#pools.map(({ name }) => [name, 0]));
    for (const entry of this.#entries.values()) {
      if (!isWaiting(entry) || (entry.holder === null && this.#held.has(entry))) continue;
      for (const pool of this.#poolsOf(entry.definition))
        if (pool !== null) ages.set(pool, Math.max(ages.get(pool) ?? 0, nowMs - entry.sinceMs));
    }
    return ages;
  }

  /** The demand of one pool. Throws `InvalidError` (`pool-unknown`), and what `snapshot` throws. */
  of(pool: string): PoolDemand & Pick<Demands, 'ageMs'> {
    if (this.#pools.every(({ name }) => name !== pool)) {
      const names = this.#pools.map(({ name }) => name).join(', ');
      throw new InvalidError(
        'pool-unknown',
        `No pool is named '${pool.slice(0, 200)}' here (TIDEMARK_POOLS); there are: ${names}.`,
      );
    }
    const { pools, ageMs } = this.snapshot();
    return { ...pools.find((each) => each.pool === pool)!, ageMs };
  }

  /** Every worker runs the system's own work, which counts in the first pool. */
  #poolsOf(definition: string): readonly (string | null)[] {
    if (isSystemDefinition(definition)) return [this.#pools[0]?.name ?? null];
    const name = queuedAs(definition);
    const found = this.#pools.filter(({ definitions }) => definitions === null || definitions.has(name));
    return found.length === 0 ? [null] : found.map((pool) => pool.name);
  }

  #see(workflow: WorkflowId, seen: Omit<Entry, 'isDebt' | 'limits' | 'sinceMs'>, isDead?: boolean): void {
    const before = this.#entries.get(workflow);
    // A lease that ended with its holder's death counts as recovery debt until the next claim.
    const isDebt = isDead ?? (before?.epoch === seen.epoch && before.isDebt);
    this.#missed.delete(workflow);
    const dispatch = before?.dispatch ?? seen.dispatch;
    const isSame = before !== undefined && before.dispatch === dispatch && before.epoch > 0 === seen.epoch > 0;
    const limits = isSame ? before.limits : limitsOf(dispatch, seen.tenant, seen.epoch);
    if (before?.epoch === 0 && before.limits !== null && seen.epoch > 0)
      this.#beginnings.add(before.limits, this.#clock.monotonicMs());
    const isAsBefore = before?.epoch === seen.epoch && isWaiting(before) === isWaiting({ ...seen, isDebt });
    const sinceMs = isAsBefore ? before.sinceMs : this.#clock.monotonicMs();
    this.#put(workflow, { ...seen, isDebt, dispatch, limits, sinceMs });
  }

  #end(workflow: WorkflowId, at: number): void {
    if (this.#polls.size > 0) this.#ended.set(workflow, at);
    this.#put(workflow, undefined);
  }

  #put(workflow: WorkflowId, entry: Entry | undefined): void {
    const before = this.#entries.get(workflow);
    const isSame = before !== undefined && entry !== undefined && countsAlike(before, entry);
    if (before !== undefined && !isSame) this.#tallies.add(before, -1);
    if (entry === undefined) {
      this.#entries.delete(workflow);
      return;
    }
    this.#entries.set(workflow, entry);
    if (!isSame) this.#tallies.add(entry, 1);
  }

  /** D3. Anything written since the poll began is no miss. */
  #miss(kind: keyof Missed, poll: number, found: ReadonlySet<WorkflowId>): void {
    for (const [workflow, { at }] of this.#entries) {
      if (at >= poll || found.has(workflow)) continue;
      const missed = this.#missed.get(workflow) ?? { runnable: 0, leases: 0 };
      missed[kind] += 1;
      this.#missed.set(workflow, missed);
      if (Math.min(missed.runnable, missed.leases) < DEMAND_MISSES) continue;
      this.#missed.delete(workflow);
      this.#put(workflow, undefined);
    }
  }
}

const orderOf = ({ epoch, holder }: Pick<Entry, 'epoch' | 'holder'>): number => 2 * epoch + (holder === null ? 1 : 0);

/** No worker leases it, or a dead one does. */
const isWaiting = ({ holder, isDebt }: Pick<Entry, 'holder' | 'isDebt'>): boolean => holder === null || isDebt;

/** Definition and tenant of a workflow never change. */
const countsAlike = (a: Entry, b: Entry): boolean =>
  a.holder === b.holder && a.isDebt === b.isDebt && a.limits?.id === b.limits?.id;
