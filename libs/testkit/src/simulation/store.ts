/**
 * Owns the fleet's store: the simulated store on the fleet's time, which may be dropped at any moment, and one process's view of it.
 */

import { type Partition, UnavailableError, type WorkflowId } from '@tidemark/core';
import { type ProjectionBatch, RANGE_COUNT, type RangeRole, type RowStore } from '@tidemark/ports';
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

export class FleetStore extends SimulatedStore {
  /** False: the tables are gone, until a process creates them again. */
  isThere = true;
  readonly seen: SeenCheckpoint[] = [];
  /** False: every compactor gets all ranges. */
  sharesCompaction = true;

  constructor(scheduler: Scheduler) {
    super(0);
    this.clock = () => Math.floor(BEGAN_AT_MS + scheduler.nowMs);
  }

  override drop(): void {
    super.drop();
    this.isThere = false;
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

  override async shareRanges(owner: string, ttlMs: number, role?: RangeRole): Promise<readonly number[]> {
    return role === 'compact' && !this.sharesCompaction ? EVERY_RANGE : super.shareRanges(owner, ttlMs, role);
  }
}

const EVERY_RANGE = Array.from({ length: RANGE_COUNT }, (_, range) => range);

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
  'seenTextsOf',
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
