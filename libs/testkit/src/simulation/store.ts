/**
 * Owns the fleet's store: the runtime's store in memory with what several coordinators need of it (ranges with a time to live, openings
 * that are placed again), which may be dropped at any moment, and one process's view of it.
 */

import { type Generation, type Partition, UnavailableError, type WorkflowId } from '@tidemark/core';
import {
  type Placed,
  type Placement,
  type PlacementRequest,
  type PlacementRules,
  type ProjectionBatch,
  RANGE_COUNT,
  type RangeRole,
  type RowStore,
} from '@tidemark/ports';
import { SimulatedStore } from '../engine/simulated-store.ts';
import type { Network } from './network.ts';
import { BEGAN_AT_MS, type SimulatedProcess } from './process.ts';
import type { Scheduler } from './scheduler.ts';

/** A checkpoint as some reader could have seen it. */
export interface SeenCheckpoint {
  readonly workflow: WorkflowId;
  readonly sequence: number;
  readonly checkpoint: string | null;
}

/** How one role shares the ranges: when owners expire, and whose each range is. */
interface Share {
  readonly owners: Map<string, number>;
  readonly ranges: Map<number, string>;
}

const newShare = (): Share => ({ owners: new Map(), ranges: new Map() });

export class FleetStore extends SimulatedStore {
  readonly #scheduler: Scheduler;
  /** False: the tables are gone, until a process creates them again. */
  isThere = true;
  readonly #shares: Record<RangeRole, Share> = { project: newShare(), compact: newShare() };
  readonly #placedAtMs = new Map<WorkflowId, number>();
  readonly seen: SeenCheckpoint[] = [];
  /** False: every compactor gets all ranges. */
  sharesCompaction = true;

  constructor(scheduler: Scheduler) {
    super(0);
    this.#scheduler = scheduler;
    this.clock = () => Math.floor(BEGAN_AT_MS + scheduler.nowMs);
  }

  override drop(): void {
    super.drop();
    this.isThere = false;
    for (const { owners, ranges } of Object.values(this.#shares)) {
      owners.clear();
      ranges.clear();
    }
    this.#placedAtMs.clear();
    this.batches.length = 0;
  }

  override async ensure(): Promise<void> {
    this.isThere = true;
  }

  override async apply(batch: ProjectionBatch): Promise<void> {
    await super.apply(batch);
    for (const { workflow, sequence, checkpoint } of batch.checkpoints)
      this.seen.push({ workflow, sequence, checkpoint });
  }

  override async shareRanges(owner?: string, ttlMs = 0, role: RangeRole = 'project'): Promise<readonly number[]> {
    if (role === 'compact' && !this.sharesCompaction) return this.ranges;
    const { nowMs } = this.#scheduler;
    const { owners, ranges } = this.#shares[role];
    owners.set(owner!, nowMs + ttlMs);
    for (const [other, untilMs] of owners) if (untilMs <= nowMs) owners.delete(other);
    const fair = Math.ceil(RANGE_COUNT / owners.size);
    const own: number[] = [];
    for (let range = 0; range < RANGE_COUNT; range++) {
      const of = ranges.get(range);
      if (of !== undefined && of !== owner && owners.has(of)) continue;
      if (own.length < fair) {
        ranges.set(range, owner!);
        own.push(range);
      } else if (of === owner) ranges.delete(range);
    }
    return own;
  }

  override async releaseRanges(owner?: string): Promise<void> {
    for (const { owners, ranges } of Object.values(this.#shares)) {
      owners.delete(owner!);
      for (const [range, of] of ranges) if (of === owner) ranges.delete(range);
    }
  }

  override async place(requests: readonly PlacementRequest[], rules?: PlacementRules): Promise<readonly Placed[]> {
    const placed = await super.place(requests, rules);
    for (const each of placed) {
      if ('created' in each && each.created) this.#placedAtMs.set(each.workflow, this.#scheduler.nowMs);
    }
    return placed;
  }

  override async unappended(ageMs: number, limit: number): Promise<readonly Placement[]> {
    const dueMs = this.#scheduler.nowMs - ageMs;
    const old = (await super.unappended(0, Number.POSITIVE_INFINITY)).filter(
      ({ workflow }) => (this.#placedAtMs.get(workflow) ?? 0) <= dueMs,
    );
    for (const placement of old) this.#renewPlacement(placement);
    // One statement of a server returns rows of one moment, so this leaves out what was appended or lost since the first read.
    return old
      .flatMap(({ workflow }) => {
        const row = this.placements.get(workflow);
        return row === undefined || row.appended ? [] : [{ ...row }];
      })
      .sort((a, b) => a.generation - b.generation)
      .slice(0, limit);
  }

  /** An opening whose generation the fold has passed would be rejected permanently. */
  #renewPlacement({ workflow, partition, generation }: Placement): void {
    const row = this.partitions.get(partition);
    const known = this.placements.get(workflow);
    if (row === undefined || known === undefined || row.generation < generation) return;
    row.placedGeneration = Math.max(row.placedGeneration, row.generation) + 1;
    Object.assign(known, { generation: row.placedGeneration as Generation });
  }
}

/** What tests do with a store, and what is no call to a server. */
const OWN: ReadonlySet<string> = new Set([
  'constructor',
  'drop',
  'on',
  'failOnce',
  'close',
  'applyContext',
  'applySeen',
  'dropSeen',
  'seenTexts',
  'loseContext',
  'loseTiers',
]);
const OPERATIONS = lineOf(SimulatedStore.prototype)
  .flatMap((prototype) => Object.getOwnPropertyNames(prototype))
  .filter((name) => !OWN.has(name));

/** The prototype and those that it inherits from, but for the last, which every object has. */
function lineOf(prototype: object): object[] {
  const next = Object.getPrototypeOf(prototype) as object | null;
  return next === null ? [] : [prototype, ...lineOf(next)];
}

/** One process's view of the store. */
export function storeView(store: FleetStore, network: Network, process: SimulatedProcess): RowStore {
  const ask = <T>(operation: string, work: () => Promise<T>): Promise<T> =>
    network.call(process, 'store', operation, () => {
      if (store.isThere || operation === 'ensure') return work();
      throw new UnavailableError('store-missing', 'The tables are gone.');
    });
  const view: Record<string, unknown> = { kind: store.kind, close: async () => {} };
  for (const operation of OPERATIONS) {
    const perform = (store as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[operation]!.bind(
      store,
    );
    view[operation] = (...args: unknown[]) => ask(operation, () => perform(...args));
  }
  // Rows and the partitions' offsets are read in one snapshot.
  view.loadStreams = (workflows: readonly WorkflowId[]): ReturnType<RowStore['loadStreams']> =>
    ask('loadStreams', () => store.loadStreams(workflows));
  return view as unknown as RowStore;
}

/** The rows of a partition in a plain shape, in an order of their own: two stores have to agree on them. */
export function dumpOf(store: SimulatedStore, partition: Partition): unknown {
  const rows = [...store.rows.values()]
    .filter(({ stream }) => stream.partition === partition)
    .map(({ stream, result, tasks, checkpoints, effects, events, timers }) => ({
      stream,
      result,
      tasks: sorted(tasks.values()),
      checkpoints: sorted(checkpoints),
      effects: sorted(effects.values()),
      events: sorted(events),
      timers: sorted(timers.values()),
    }));
  return sorted(rows);
}

const sorted = (rows: Iterable<unknown>): string[] => [...rows].map((row) => JSON.stringify(row)).sort();
