/**
 * Owns making rows anew from nothing: folds log and archive into tables beside those in use, and puts them in their place, or holds the two
 * against each other. The fleet runs on meanwhile. What an earlier process has folded is gone on from. Must not write to the rows in use.
 */

import { ConflictError, type Offset, type Partition, TidemarkError, UnavailableError } from '@tidemark/core';
import {
  type Clock,
  type EventLog,
  noTelemetry,
  type PartitionBounds,
  type ProjectionStore,
  RANGE_COUNT,
  type ReadRequest,
  type ReadResult,
  type RowComparison,
  type StoreRebuild,
} from '@tidemark/ports';
import type { Archive } from './archive.ts';
import { settleArchived } from './archived-rows.ts';
import { REBUILD_MEET_MAX_MS, REBUILD_MEETINGS_MAX, REBUILD_PARTITIONS_AT_ONCE } from './limits.ts';
import { wholePartitions } from './partition-rows.ts';
import { LamportClock } from './ports.ts';
import { Projector } from './projector.ts';

export interface RebuildProgress {
  /** Events that are folded, of those there are. */
  readonly doneCount: number;
  readonly totalCount: number;
}

export interface RowsRebuildOptions {
  readonly target: StoreRebuild;
  /** The target's store as the fleet sees its own: where that seals what it writes, this does too. */
  readonly rows: ProjectionStore;
  /** All history, opened. */
  readonly log: EventLog;
  /** Absent: all history is in the log. */
  readonly archived?: { readonly hot: EventLog; readonly archive: Archive } | undefined;
  readonly clock: Clock;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Told of every failure that was outlived. */
  readonly onError?: (error: unknown) => void;
}

type Positions = ReadonlyMap<Partition, Offset>;

interface Waiting {
  readonly upTo: Positions;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const ALL_RANGES = Array.from({ length: RANGE_COUNT }, (_, range) => range);

export class RowsRebuild {
  readonly #options: RowsRebuildOptions;
  readonly #projector: Projector;
  readonly #log: BoundedLog;
  /** How far the new rows are. */
  #next = new Map<Partition, Offset>();
  #totalCount = 0;
  #waiting: Waiting | undefined;

  constructor(options: RowsRebuildOptions) {
    this.#options = options;
    this.#log = new BoundedLog(options.log);
    this.#projector = new Projector({
      ports: {
        log: this.#log,
        store: options.rows,
        hints: { publish: () => {}, subscribe: async () => async () => {}, close: async () => {} },
        telemetry: noTelemetry,
        clock: options.clock,
        archive: options.archived?.archive,
      },
      lamport: new LamportClock(),
      onApplied: (_, next) => this.#applied(next),
      onError: (error) => this.#failed(error),
    });
  }

  /**
   * Folds everything and puts the new rows in the place of those in use. Throws `UnavailableError` (`store-busy`, `rebuild-behind`: run it
   * again, it goes on where it was), `CorruptError` as reading log and archive do, `ConfigError` (`store-older`).
   */
  async switchOver(): Promise<void> {
    await this.#working(async () => {
      for (let attempt = 1; ; attempt++) {
        await this.#foldAll(await this.#ends());
        try {
          await this.#options.target.switchOver((positions) => this.#meet(positions));
          return;
        } catch (error) {
          const isBehind = error instanceof TidemarkError && error.code === 'rebuild-behind';
          if (!isBehind || attempt >= REBUILD_MEETINGS_MAX) throw error;
          this.#options.onError?.(error);
        }
      }
    });
  }

  /** Folds what the rows in use hold, compares, and throws the new rows away. `limit`: differences that are named. */
  async compare(limit: number): Promise<RowComparison> {
    const { target } = this.#options;
    // Rows of an earlier comparison may be those of another version's fold.
    await target.drop();
    try {
      return await this.#working(async () => {
        const positions = await target.positions();
        this.#log.limit(positions);
        await this.#foldAll(positions);
        return target.compare((at) => {
          this.#log.limit(at);
          return this.#meet(at);
        }, limit);
      });
    } finally {
      await target.drop();
    }
  }

  async #working<T>(work: () => Promise<T>): Promise<T> {
    const { rows } = this.#options;
    await rows.ensure();
    this.#next = new Map(await rows.positions());
    this.#projector.own(ALL_RANGES);
    this.#projector.start();
    try {
      return await work();
    } finally {
      await this.#projector.stop();
    }
  }

  async #ends(): Promise<Positions> {
    return new Map([...(await this.#log.bounds())].map(([partition, { end }]) => [partition, end]));
  }

  /** Some partitions at a time, so that rows of archived history never pile up. */
  async #foldAll(upTo: Positions): Promise<void> {
    this.#totalCount = sum(upTo.values());
    const partitions = [...upTo.keys()];
    for (let at = 0; at < partitions.length; at += REBUILD_PARTITIONS_AT_ONCE) {
      const some = partitions.slice(at, at + REBUILD_PARTITIONS_AT_ONCE);
      await this.#fold(new Map(some.map((partition) => [partition, upTo.get(partition)!])));
      await this.#settle(some);
    }
    await this.#options.rows.markReady();
  }

  async #fold(upTo: Positions): Promise<void> {
    const missing = [...upTo.keys()].filter((partition) => !this.#next.has(partition));
    if (missing.length > 0) {
      const added = await wholePartitions(this.#log, missing);
      await this.#options.rows.addPartitions(added);
      for (const { partition, start } of added) this.#next.set(partition, start);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting = { upTo, resolve, reject };
    this.#projector.hint(upTo.keys());
    this.#applied(new Map());
    try {
      await promise;
    } finally {
      this.#waiting = undefined;
    }
  }

  /** The index of segments, and no rows of what they have. */
  async #settle(partitions: readonly Partition[]): Promise<void> {
    const { archived, rows } = this.#options;
    if (archived === undefined) return;
    for (const [partition, { start }] of await archived.hot.bounds(partitions)) {
      const next = this.#next.get(partition)!;
      // A page of segments at a time. The log may have been trimmed further than what is compared.
      while (next >= start && !(await settleArchived(archived.archive, rows, partition, { start, next })));
    }
  }

  /** While writers are held: what came last. */
  async #meet(positions: Positions): Promise<void> {
    const { clock, rows } = this.#options;
    const met = new AbortController();
    const late = clock.sleep(REBUILD_MEET_MAX_MS, met.signal).then(() => {
      if (met.signal.aborted) return;
      throw new UnavailableError(
        'rebuild-behind',
        `The new rows did not catch up with those in use within ${REBUILD_MEET_MAX_MS / 1_000} s, in which nobody could write. Nothing was changed; it goes on, or run it again at a quieter time.`,
      );
    });
    try {
      await Promise.race([this.#fold(positions), late]);
    } finally {
      met.abort();
    }
    if (!(await rows.markReady())) throw new UnavailableError('rebuild-behind', 'The new rows are not complete yet.');
  }

  #applied(next: Positions): void {
    for (const [partition, offset] of next) this.#next.set(partition, offset);
    const { onProgress } = this.#options;
    if (next.size > 0) onProgress?.({ doneCount: sum(this.#next.values()), totalCount: this.#totalCount });
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    for (const [partition, offset] of waiting.upTo) if (this.#next.get(partition)! < offset) return;
    waiting.resolve();
  }

  #failed(error: unknown): void {
    const code = error instanceof TidemarkError ? error.code : '';
    const isOutlived =
      // The tables are gone: another process switched them, or threw them away.
      (error instanceof UnavailableError && code !== 'store-missing') ||
      error instanceof ConflictError ||
      // One workflow in two partitions: they are folded one by one then.
      code === 'batch-two-homes';
    if (isOutlived) this.#options.onError?.(error);
    else this.#waiting?.reject(error);
  }
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);

type Readable = Pick<EventLog, 'read' | 'bounds'>;

/** A log that ends no later than some offsets. */
class BoundedLog implements Readable {
  readonly #log: Readable;
  #ends: Positions | undefined;

  constructor(log: Readable) {
    this.#log = log;
  }

  limit(ends: Positions): void {
    this.#ends = ends;
  }

  async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.#log.read(requests, options);
    return results.map(({ partition, records, end }) => {
      const last = this.#endOf(partition, end);
      return { partition, records: records.filter(({ offset }) => offset < last), end: last };
    });
  }

  async bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    const bounds = await this.#log.bounds(partitions);
    return new Map(
      [...bounds].map(([partition, { start, end }]) => [partition, { start, end: this.#endOf(partition, end) }]),
    );
  }

  #endOf(partition: Partition, end: Offset): Offset {
    return this.#ends === undefined ? end : (Math.min(this.#ends.get(partition) ?? 0, end) as Offset);
  }
}
