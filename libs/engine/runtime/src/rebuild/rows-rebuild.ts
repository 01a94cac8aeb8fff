/**
 * Owns the rebuild of all rows: it folds log and archive into tables beside those in use, and then switches over to them, or compares the
 * two. The fleet keeps running. It resumes from what an earlier process has folded. It never writes to the rows in use.
 */

import {
  ConflictError,
  CorruptError,
  type Offset,
  type Partition,
  STATE_VERSION,
  TidemarkError,
  UnavailableError,
} from '@tidemark/core';
import {
  type CatchUp,
  type Clock,
  type CompareContents,
  type EventLog,
  noTelemetry,
  type ProjectionStore,
  RANGE_COUNT,
  type RowComparison,
  type StoreRebuild,
  type UnfinishedRebuild,
} from '@tidemark/ports';
import release from '../../package.json' with { type: 'json' };
import {
  type Archive,
  ColdReads,
  expectedText,
  indexArchived,
  latestOf,
  type RecalledHistory,
  recalledIn,
  settleArchived,
} from '../archive/index.ts';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, backoffMs, LamportClock } from '../kernel/index.ts';
import { OmittedHistory, Projector, wholePartitions } from '../projection/index.ts';
import { BoundedLog } from './bounded-log.ts';
import { lostTail } from './lost-tail.ts';

/** Partitions that a rebuild folds before it drops rows of archived history. */
const REBUILD_PARTITIONS_AT_ONCE = 256;
/** Longest time that a rebuild blocks writers to catch up with them, in milliseconds; and how often it tries. */
const REBUILD_MEET_MAX_MS = 3_000;
const REBUILD_MEETINGS_MAX = 20;
/** Period of the poll of the new rows' offsets, in milliseconds, because the answer to a write may be lost. */
const REBUILD_POLL_MS = 500;
/** How often a rebuild restarts because it found openings elsewhere than rows said. */
const REBUILD_PLACINGS_MAX = 5;

/** A rebuild does not resume from rows of another release, or of another form of folded state. */
const FOLD_VERSION = `${release.version}, state ${STATE_VERSION}`;

export interface RebuildProgress {
  /** Log entries that the new rows have, and the total. */
  readonly doneCount: number;
  readonly totalCount: number;
  /** Entries that this run has folded. */
  readonly foldedCount: number;
}

export interface RowsRebuildOptions {
  readonly target: StoreRebuild;
  /** The target's store as the fleet sees its own: where that seals its writes, this one does too. */
  readonly rows: ProjectionStore;
  /** All history, opened. */
  readonly log: EventLog;
  /** Absent: all history is in the log. */
  readonly archived?: { readonly hot: EventLog; readonly archive: Archive } | undefined;
  readonly clock: Clock;
  /** Opens and compares texts that are sealed; absent: only their presence is compared. */
  readonly contents?: CompareContents | undefined;
  readonly onProgress?: (progress: RebuildProgress) => void;
  /** Receives every failure that the rebuild survived. */
  readonly onError?: (error: unknown) => void;
}

type Positions = ReadonlyMap<Partition, Offset>;

/** One fold: what wakes it, and what ends it. */
interface Folding {
  readonly upTo: Positions;
  wake: () => void;
  failure: { readonly error: unknown } | undefined;
}

const ALL_RANGES = Array.from({ length: RANGE_COUNT }, (_, range) => range);

export class RowsRebuild {
  readonly #options: RowsRebuildOptions;
  readonly #log: BoundedLog;
  #projector: Projector;
  /** The next offset of each partition in the new rows. */
  #next = new Map<Partition, Offset>();
  #foldedCount = 0;
  #totalCount = 0;
  #folding: Folding | undefined;
  /** Partitions whose history was recalled and is not readable yet. */
  readonly #recalled = new Map<Partition, RecalledHistory>();
  /** Where the segments end that are recorded in the new rows, whose content may not be folded yet. */
  readonly #archivedTo = new Map<Partition, Offset>();
  /** Rows of archived history are omitted, rather than written and dropped again. */
  #omits = true;

  constructor(options: RowsRebuildOptions) {
    this.#options = options;
    this.#log = new BoundedLog(options.log);
    this.#projector = this.#newProjector();
  }

  #newProjector(): Projector {
    const { rows, clock, archived } = this.#options;
    return new Projector({
      ports: {
        log: this.#log,
        store: rows,
        hints: { publish: () => {}, subscribe: async () => async () => {}, close: async () => {} },
        telemetry: noTelemetry,
        clock,
        cold: archived && new ColdReads({ archive: archived.archive, clock }),
      },
      omitted: this.#omits
        ? new OmittedHistory(rows, (partition) => this.#archivedTo.get(partition) ?? (0 as Offset))
        : undefined,
      lamport: new LamportClock(),
      onApplied: (_, next) => this.#applied(next),
      onError: (error) => this.#failed(error),
    });
  }

  /** What an earlier process left unfinished, from which `switchOver` resumes. */
  unfinished(): Promise<UnfinishedRebuild | undefined> {
    return this.#options.target.unfinished();
  }

  /**
   * Folds everything and switches to the new rows. Throws `UnavailableError` (`store-busy`, `rebuild-behind`, `rebuild-misplaced`: run it
   * again, and it resumes; `history-recalled`: run it again once that is readable), `CorruptError` (`log-replaced`: the rows in use have
   * more than the log; those of `StoreRebuild.switchOver`; those of reading log and archive), `ConfigError` (`store-older`; those of
   * `StoreRebuild`). `isFromNothing` discards what an earlier process folded.
   */
  async switchOver({ isFromNothing = false }: { readonly isFromNothing?: boolean } = {}): Promise<void> {
    const { target } = this.#options;
    await this.#refuseLostLog();
    await target.begin(FOLD_VERSION, isFromNothing);
    await this.#untilDone(async () => {
      await this.#foldAll(await this.#ends());
      await target.switchOver((positions) => this.#meet(positions));
    });
  }

  /**
   * Folds up to the rows in use, compares, and drops the new rows. `limit`: differences that are listed. Throws what `switchOver` throws,
   * except for what a switch would lose.
   */
  async compare(limit: number): Promise<RowComparison> {
    const { target, contents } = this.#options;
    await this.#refuseLostLog();
    await target.begin(FOLD_VERSION, true);
    try {
      return await this.#untilDone(async () => {
        const positions = await target.positions();
        this.#log.limit(positions);
        await this.#foldAll(positions);
        const catchUp: CatchUp = (at) => {
          this.#log.limit(at);
          return this.#meet(at);
        };
        return target.compare(catchUp, { limit, contents });
      });
    } finally {
      await target.drop();
    }
  }

  /** Rows with more than the log prove that the log lost records: new rows would never get that far, and would lack them. */
  async #refuseLostLog(): Promise<void> {
    const { target, log } = this.#options;
    const lost = await lostTail(log, target);
    if (lost === undefined) return;
    throw new CorruptError(
      'log-replaced',
      `The log ends before what its rows hold (partition ${lost.partition}: ${lost.end} of ${lost.next} entries): it was deleted, cut, or restored from an older copy. Nothing was changed. Restore the log from a newer copy; new rows would forget what it has lost.`,
      { ...lost },
    );
  }

  /** Repeats when other processes interfered, or when workflows turned out to be elsewhere; not for ever. */
  async #untilDone<T>(work: () => Promise<T>): Promise<T> {
    const { clock, target, onError } = this.#options;
    let placingCount = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#working(work);
      } catch (error) {
        const code = error instanceof TidemarkError ? error.code : '';
        if (code === 'rebuild-misplaced' && placingCount++ < REBUILD_PLACINGS_MAX) {
          onError?.(error);
          await target.restart();
          continue;
        }
        if (code === 'archive-disagrees' && this.#omits) {
          onError?.(error);
          this.#omits = false;
          await target.begin(FOLD_VERSION, true);
          continue;
        }
        const isBusy = code === 'rebuild-behind' || code === 'store-busy';
        if (!isBusy || attempt >= REBUILD_MEETINGS_MAX) throw error;
        onError?.(error);
        await clock.sleep(backoffMs(attempt, BACKOFF_FIRST_MS, BACKOFF_MAX_MS));
      }
    }
  }

  async #working<T>(work: () => Promise<T>): Promise<T> {
    const { rows } = this.#options;
    await rows.ensure();
    this.#next = new Map(await rows.positions());
    this.#recalled.clear();
    this.#archivedTo.clear();
    this.#projector = this.#newProjector();
    this.#projector.own(ALL_RANGES);
    this.#projector.start();
    try {
      return await work();
    } finally {
      await this.#projector.stop();
    }
  }

  /** The ends of partitions that have rows. Further partitions are added by a coordinator, which fences them first. */
  async #ends(): Promise<Positions> {
    const known = [...(await this.#options.target.positions()).keys()];
    if (known.length === 0) {
      throw new UnavailableError(
        'rows-missing',
        'The rows in use have no partition yet, so there is nothing to rebuild. Start a coordinator (or open the folder), which makes them from log and archive.',
      );
    }
    return new Map([...(await this.#log.bounds(known))].map(([partition, { end }]) => [partition, end]));
  }

  /** Folds some partitions at a time, so that rows of archived history never pile up. */
  async #foldAll(upTo: Positions): Promise<void> {
    const { archived, rows } = this.#options;
    this.#totalCount = sum(upTo.values());
    const partitions = [...upTo.keys()];
    for (let at = 0; at < partitions.length; at += REBUILD_PARTITIONS_AT_ONCE) {
      const some = partitions.slice(at, at + REBUILD_PARTITIONS_AT_ONCE);
      const ends = new Map(some.map((partition) => [partition, upTo.get(partition)!]));
      if (archived !== undefined && this.#omits) {
        for (const [partition, start] of await indexArchived(archived, rows, ends))
          this.#archivedTo.set(partition, start);
      }
      await this.#fold(ends);
      await this.#settle(some.filter((partition) => !this.#recalled.has(partition)));
    }
    this.#refuseRecalled();
    await rows.markReady();
  }

  /** Throws once everything else is folded and all missing history was requested. */
  #refuseRecalled(): void {
    const recalled = [...this.#recalled.values()];
    if (recalled.length === 0) return;
    const expectedAtMs = latestOf(recalled.map((each) => each.expectedAtMs));
    const objectCount = sum(recalled.map((each) => each.objectCount));
    throw new UnavailableError(
      'history-recalled',
      `${objectCount} objects with history of ${recalled.length} partitions are in a storage class that is read only after a recall. They were requested, and are expected ${expectedText(expectedAtMs)}: run it again then. Nothing was changed.`,
      { objectCount, partitionCount: recalled.length, expectedAtMs },
    );
  }

  /** Resolves once the new rows have reached these offsets, except in partitions whose history is away. */
  async #fold(upTo: Positions, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const folding: Folding = { upTo, wake: () => {}, failure: undefined };
    this.#folding = folding;
    try {
      await this.#addMissing([...upTo.keys()]);
      for (;;) {
        const behind = this.#behind(upTo);
        if (behind.length === 0 || signal?.aborted === true) return;
        const woken = new AbortController();
        folding.wake = () => woken.abort();
        this.#projector.hint(behind);
        await clock.sleep(REBUILD_POLL_MS, woken.signal);
        if (folding.failure !== undefined) throw folding.failure.error;
        await this.#poll(this.#behind(upTo));
      }
    } finally {
      if (this.#folding === folding) this.#folding = undefined;
    }
  }

  async #addMissing(partitions: readonly Partition[]): Promise<void> {
    const missing = partitions.filter((partition) => !this.#next.has(partition));
    if (missing.length === 0) return;
    const added = await wholePartitions(this.#log, missing);
    await this.#options.rows.addPartitions(added);
    for (const { partition, start } of added) this.#next.set(partition, start);
  }

  #behind(upTo: Positions): readonly Partition[] {
    const isBehind = ([partition, offset]: readonly [Partition, Offset]): boolean =>
      this.#next.get(partition)! < offset && !this.#recalled.has(partition);
    return [...upTo].filter(isBehind).map(([partition]) => partition);
  }

  /** Finds batches whose answer was lost, or that another process wrote. */
  async #poll(partitions: readonly Partition[]): Promise<void> {
    if (partitions.length === 0) return;
    try {
      this.#advance(await this.#options.rows.positions(partitions));
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.#options.onError?.(error);
    }
  }

  /** Records the index of segments, and drops the rows of what they have. */
  async #settle(partitions: readonly Partition[]): Promise<void> {
    const { archived, rows } = this.#options;
    if (archived === undefined) return;
    for (const [partition, { start }] of await archived.hot.bounds(partitions)) {
      const next = this.#next.get(partition)!;
      // One page of segments at a time. The log may be trimmed further than what is compared.
      while (next >= start && !(await settleArchived(archived.archive, rows, partition, { start, next })));
    }
  }

  /** Folds the latest events while writers are blocked. */
  async #meet(positions: Positions): Promise<void> {
    const { clock, rows } = this.#options;
    const met = new AbortController();
    const late = clock.sleep(REBUILD_MEET_MAX_MS, met.signal).then(() => {
      if (met.signal.aborted) return;
      throw new UnavailableError(
        'rebuild-behind',
        `The new rows did not catch up with those in use within ${REBUILD_MEET_MAX_MS / 1_000} s, in which nobody could write. Nothing was changed; it tries again, or run it again at a quieter time.`,
      );
    });
    try {
      await Promise.race([this.#fold(positions, met.signal), late]);
    } finally {
      met.abort();
    }
    this.#refuseRecalled();
    if (!(await rows.markReady())) throw new UnavailableError('rebuild-behind', 'The new rows are not complete yet.');
  }

  #applied(next: Positions): void {
    this.#advance(next);
    if (this.#folding !== undefined && this.#behind(this.#folding.upTo).length === 0) this.#folding.wake();
  }

  #advance(next: Positions): void {
    for (const [partition, offset] of next) {
      const before = this.#next.get(partition) ?? offset;
      this.#foldedCount += Math.max(0, offset - before);
      this.#next.set(partition, Math.max(before, offset) as Offset);
    }
    if (next.size === 0) return;
    const [doneCount, totalCount, foldedCount] = [sum(this.#next.values()), this.#totalCount, this.#foldedCount];
    this.#options.onProgress?.({ doneCount, totalCount, foldedCount });
  }

  #failed(error: unknown): void {
    const recalled = recalledIn(error);
    if (recalled !== undefined) this.#recalled.set(recalled.partition, recalled);
    if (isTransient(error)) this.#options.onError?.(error);
    else if (this.#folding !== undefined) this.#folding.failure = { error };
    this.#folding?.wake();
  }
}

function isTransient(error: unknown): boolean {
  const code = error instanceof TidemarkError ? error.code : '';
  return (
    // The tables are gone: another process switched or dropped them.
    (error instanceof UnavailableError && code !== 'store-missing') ||
    error instanceof ConflictError ||
    // One workflow is in two partitions: they are then folded one by one.
    code === 'batch-two-homes'
  );
}

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
