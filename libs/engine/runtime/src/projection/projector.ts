/**
 * Owns the way from the log to the rows: it reads hinted partitions, folds them, and writes rows and next offsets in one transaction. If a
 * partition's row is not where the fold expects it, the folded state is dropped and loaded from the rows again. While one batch is written
 * the next is read and folded; batches are written in order.
 *
 * R1 Folded state is kept only while every batch that it rests on has been written.
 * R2 A hint is dropped only after a read that found nothing more, or that was impossible: damaged history, or archived history that must be
 *    recalled. The sweep that compares rows with the log hints those again.
 * R3 A batch is written only to the tables, by store id, that its fold was loaded from: rebuilt rows never rest on a fold of the old ones.
 */

import { entryOf } from '@tidemark/codec';
import {
  ConflictError,
  CorruptError,
  InvalidError,
  keepLast,
  type Offset,
  type Partition,
  type PartitionState,
  UnavailableError,
} from '@tidemark/core';
import {
  type EventLog,
  type ProjectionBatch,
  RANGE_COUNT,
  type ReadResult,
  type StreamRow,
  type Telemetry,
} from '@tidemark/ports';
import { isArchivedObject } from '../history/index.ts';
import {
  Gathering,
  type GatheringLimits,
  type LamportClock,
  type Loop,
  type LoopState,
  type Ports,
  startLoop,
} from '../kernel/index.ts';
import type { FoldedEvent, TraceSink } from './folded-event.ts';
import { type LifecycleEvent, LifecycleMetrics } from './lifecycle-metrics.ts';
import { PROJECTION_ENTRIES_MAX, PROJECTION_READ_MAX_BYTES } from './limits.ts';
import { NOTHING_OMITTED, type Omitted, type OmittedHistory, type Stretch } from './omitted-history.ts';
import { ProjectionBuilder } from './projection.ts';
import { judgedIn, resumedAfterUpgrade, stateOf, stoppedAt } from './resume-after-upgrade.ts';

/** Most partitions in one projection read. */
const PROJECTION_PARTITIONS_MAX = 1_024;
/** Folded partitions that a projector keeps in memory. */
const FOLD_CACHE_PARTITIONS_MAX = 8_192;

export interface ProjectorOptions {
  readonly ports: Pick<Ports, 'store' | 'hints' | 'telemetry' | 'clock' | 'cold'> & {
    readonly log: Pick<EventLog, 'read'>;
  };
  readonly lamport: LamportClock;
  /** Absent: events are taken at once. */
  readonly gathering?: GatheringLimits | undefined;
  /** Absent: all history gets rows. */
  readonly omitted?: OmittedHistory | undefined;
  /** Called after rows are written, with the changed streams and the partitions' next offsets, and with what has rows of its own of the events. */
  readonly onApplied: (
    streams: readonly StreamRow[],
    next: ReadonlyMap<Partition, Offset>,
    events: ProjectionBatch['events'],
  ) => void;
  readonly onError: (error: unknown) => void;
  /** Receives every accepted event once its rows are written. */
  readonly traces?: Pick<TraceSink, 'accept'> | undefined;
  /** Whether rows are being rebuilt: if so, metrics counted these events before and must not again. */
  readonly isRebuilding?: (() => boolean) | undefined;
}

interface Prepared {
  /** Partitions in which a person judged a record. */
  readonly judged: readonly Partition[];
  readonly batch: ProjectionBatch;
  readonly partitions: readonly Partition[];
  readonly entryCount: number;
  readonly accepted: readonly FoldedEvent[];
  readonly lifecycle: readonly LifecycleEvent[];
}

export class Projector {
  readonly #options: ProjectorOptions;
  #ranges: ReadonlySet<number> = new Set();
  /** Partitions that may have something new. */
  readonly #hinted = new Set<Partition>();
  /** Folded partitions, least recently used first. */
  readonly #states = new Map<Partition, PartitionState>();
  /**
   * Partitions that can't be folded, for example because the log is trimmed below their rows: reported once, then left alone until rows are
   * rebuilt.
   */
  readonly #halted = new Set<Partition>();
  /** One partition a batch, after a batch opened one workflow in two partitions: the first one written keeps it. */
  #alone = false;
  /** Rows that were behind the fold at the last sweep. */
  #behind = new Map<Partition, Offset>();
  /** The store id of the tables that folded state was loaded from (R3). */
  #storeId = '';
  /** Counts how often folded state was dropped, so that work which rests on it can be recognized. */
  #forgottenCount = 0;
  #writing: Promise<void> = Promise.resolve();
  #writeError: unknown;
  #loop: Loop | undefined;
  readonly #gathering: Gathering;
  readonly #lifecycle: LifecycleMetrics;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#gathering = new Gathering(options.ports.clock, options.gathering);
    this.#lifecycle = new LifecycleMetrics(options.ports);
  }

  start(): void {
    this.#loop = startLoop((moved, signal) => this.#drain(moved, signal), {
      clock: this.#options.ports.clock,
      periodMs: Number.POSITIVE_INFINITY,
      onError: (error) => this.#recover(error),
      firstMs: Number.POSITIVE_INFINITY,
    });
  }

  async stop(): Promise<void> {
    await this.#loop?.stop();
    await this.#writing;
  }

  state(): LoopState {
    return this.#loop?.state() ?? { unmovedMs: undefined, failingMs: undefined };
  }

  /** From now on, only partitions of these ranges are projected here. True when some of them are new. */
  own(ranges: readonly number[]): boolean {
    const owned = new Set(ranges);
    for (const partition of this.#states.keys())
      if (!owned.has(partition % RANGE_COUNT)) this.#states.delete(partition);
    const gained = ranges.some((range) => !this.#ranges.has(range));
    this.#ranges = owned;
    return gained;
  }

  owns(partition: Partition): boolean {
    return this.#ranges.has(partition % RANGE_COUNT);
  }

  hint(partitions: Iterable<Partition>): void {
    for (const partition of partitions) {
      if (this.owns(partition) && this.#options.ports.cold?.isCold(partition) !== true) this.#hinted.add(partition);
    }
    if (this.#hinted.size > 0) this.#loop?.wake();
  }

  /**
   * Compares the fold with the rows. Rows that are behind the fold twice, unchanged, went back with a restored or crashed database: their
   * folded state is dropped, and they are hinted.
   */
  reconcile(rows: ReadonlyMap<Partition, Offset>): void {
    const behind = new Map<Partition, Offset>();
    for (const [partition, state] of this.#states) {
      const row = rows.get(partition);
      if (row === undefined || row >= state.next) continue;
      if (this.#behind.get(partition) === row) {
        this.#states.delete(partition);
        this.hint([partition]);
      } else behind.set(partition, row);
    }
    this.#behind = behind;
  }

  /** Drops all folded state, because rows were lost or rebuilt. */
  forgetAll(): void {
    this.#forget();
    this.#halted.clear();
  }

  #forget(): void {
    this.#states.clear();
    this.#forgottenCount++;
  }

  #recover(error: unknown): void {
    this.#forget();
    this.#options.onError(error);
  }

  async #drain(moved: () => void, signal: AbortSignal): Promise<void> {
    while (this.#hinted.size > 0 && !signal.aborted) {
      moved();
      this.#throwWriteError();
      await this.#gathering.next(signal);
      const prepared = await this.#prepare(this.#take(), moved);
      this.#gathering.took(prepared?.entryCount ?? 0);
      // One batch at a time is written while the next is prepared.
      await this.#writing;
      if (this.#writeError !== undefined) this.#rehint(prepared?.partitions ?? []);
      this.#throwWriteError();
      if (prepared !== undefined) this.#writing = this.#write(prepared);
    }
    await this.#writing;
    this.#throwWriteError();
    this.#alone = false;
  }

  #rehint(partitions: readonly Partition[]): void {
    for (const partition of partitions) this.#hinted.add(partition);
  }

  #throwWriteError(): void {
    const error = this.#writeError;
    this.#writeError = undefined;
    if (error !== undefined) throw error;
  }

  #take(): readonly Partition[] {
    const taken: Partition[] = [];
    for (const partition of this.#hinted) {
      if (taken.length === (this.#alone ? 1 : PROJECTION_PARTITIONS_MAX)) break;
      taken.push(partition);
      this.#hinted.delete(partition);
    }
    return taken.filter((partition) => this.owns(partition));
  }

  async #prepare(partitions: readonly Partition[], moved: () => void): Promise<Prepared | undefined> {
    try {
      await this.#load(partitions, moved);
      const forgottenCount = this.#forgottenCount;
      const known = partitions.filter((partition) => this.#states.has(partition));
      const reads = known.map((partition) => ({ partition, from: this.#states.get(partition)!.next }));
      const results = await this.#read(reads);
      const stretches = this.#decoded(results);
      const omitted = this.#options.omitted && (await this.#options.omitted.of(stretches));
      if (forgottenCount === this.#forgottenCount) return this.#fold(stretches, omitted);
      this.#rehint(partitions);
      return undefined;
    } catch (error) {
      this.#rehint(partitions);
      throw error;
    }
  }

  async #load(partitions: readonly Partition[], moved: () => void): Promise<void> {
    const missing = partitions.filter((partition) => !this.#states.has(partition));
    if (missing.length === 0) return;
    // Rows must not be read while a batch that changes them is being written.
    await this.#writing;
    const { store } = this.#options.ports;
    const storeId = await store.storeId();
    if (storeId !== this.#storeId) this.forgetAll();
    this.#storeId = storeId;
    const lacking = partitions.filter((partition) => !this.#states.has(partition) && !this.#halted.has(partition));
    for (const folded of lacking.length === 0 ? [] : await store.loadPartitions(lacking)) {
      const state = stateOf(folded);
      if (state instanceof CorruptError) {
        this.#halted.add(folded.partition);
        this.#options.onError(state);
      } else await this.#resume(state, moved);
    }
    await this.#options.omitted?.loaded(lacking.flatMap((partition) => this.#states.get(partition) ?? []));
  }

  /**
   * Keeps the state, after folding what an older release skipped and writing its rows. If that can't be read, only this partition stops.
   */
  async #resume(state: PartitionState, moved: () => void): Promise<void> {
    const { log, store } = this.#options.ports;
    const { partition, next } = state;
    const write = async (batch: ProjectionBatch): Promise<void> => {
      await store.apply({ ...batch, storeId: this.#storeId });
      this.#options.onApplied(batch.streams, new Map([[partition, next]]), batch.events);
    };
    try {
      this.#states.set(partition, await resumedAfterUpgrade(state, { log, write, moved }));
    } catch (error) {
      if (isArchivedObject(error)) return this.#recall(partition, stoppedAt(state), error);
      if (!(error instanceof CorruptError)) throw error;
      this.#halted.add(partition);
      this.#options.onError(error);
    }
  }

  async #read(reads: readonly { partition: Partition; from: Offset }[]): Promise<readonly ReadResult[]> {
    if (reads.length === 0) return [];
    try {
      return await this.#options.ports.log.read(reads, { maxBytes: PROJECTION_READ_MAX_BYTES });
    } catch (error) {
      if (isArchivedObject(error)) {
        // Single reads show which partition lacks its history.
        if (reads.length > 1) return this.#readEach(reads);
        await this.#recall(reads[0]!.partition, reads[0]!.from, error);
        return [];
      }
      if (!(error instanceof CorruptError)) throw error;
      if (error.code === 'segment-deleted') {
        const { partition } = error.details as { readonly partition: Partition };
        await this.#skipOrRecall(partition);
        return this.#read(reads.filter((read) => read.partition !== partition));
      }
      // One partition is damaged: it is reported and left alone, and the others continue.
      const wrong = error.details.partition as Partition | undefined;
      if (wrong === undefined && reads.length > 1) return this.#readEach(reads);
      const halted = wrong ?? reads[0]!.partition;
      this.#halted.add(halted);
      this.#states.delete(halted);
      this.#options.onError(error);
      return this.#read(reads.filter((read) => read.partition !== halted));
    }
  }

  /** Requests the missing history. The fold continues when a later hint finds it there. */
  async #recall(partition: Partition, from: Offset, error: unknown): Promise<void> {
    const { cold } = this.#options.ports;
    if (cold === undefined) throw error;
    const reported = await cold.ask(partition, from, error);
    if (reported !== undefined) this.#options.onError(reported);
  }

  async #skipOrRecall(partition: Partition): Promise<void> {
    try {
      await this.#skip(partition);
    } catch (error) {
      if (!isArchivedObject(error)) throw error;
      // A state of an older version is folded again, from the partition's beginning.
      await this.#recall(partition, 0 as Offset, error);
    }
  }

  /** Skips a stretch that was deleted for good, and continues after it. */
  async #skip(partition: Partition): Promise<void> {
    const { cold, store } = this.#options.ports;
    const before = this.#states.get(partition);
    const deleted = before && (await cold?.behind(partition, before.next));
    if (before === undefined || deleted === undefined) return;
    await this.#writing;
    const { after, workflows } = deleted;
    const builder = new ProjectionBuilder();
    builder.skip(before, after, workflows);
    const batch = { ...builder.batch(), storeId: this.#storeId };
    await store.apply(batch);
    this.#options.omitted?.skipped(before, after);
    this.#keep(after);
    this.#options.onApplied(batch.streams, new Map([[partition, after.next]]), batch.events);
    this.#hinted.add(partition);
  }

  /** Single reads show which partition is damaged. */
  async #readEach(reads: readonly { partition: Partition; from: Offset }[]): Promise<readonly ReadResult[]> {
    const results: ReadResult[] = [];
    for (const read of reads) results.push(...(await this.#read([read])));
    return results;
  }

  #decoded(results: readonly ReadResult[]): readonly Stretch[] {
    const stretches: Stretch[] = [];
    let room = PROJECTION_ENTRIES_MAX;
    for (const { partition, records, end } of results) {
      const before = this.#states.get(partition);
      // Another coordinator owns it now.
      if (before === undefined) continue;
      const taken = records.length <= room ? records : records.slice(0, room);
      room -= taken.length;
      if (before.next + taken.length < end) this.#hinted.add(partition);
      if (taken.length > 0) stretches.push({ before, entries: taken.map(entryOf) });
    }
    return stretches;
  }

  #fold(stretches: readonly Stretch[], omitted: readonly Omitted[] = []): Prepared | undefined {
    const { lamport } = this.#options;
    const builder = new ProjectionBuilder();
    if (this.#options.traces !== undefined) builder.accepted = [];
    const lifecycle: LifecycleEvent[] = [];
    builder.lifecycle = lifecycle;
    const folded: Partition[] = [];
    for (const [at, { before, entries }] of stretches.entries()) {
      // Another coordinator took it over while the omitted history was being read.
      if (this.#states.get(before.partition) !== before) continue;
      for (const entry of entries) {
        if (entry.kind === 'event') lamport.witness(entry.envelope.lamport);
      }
      const left = omitted[at] ?? NOTHING_OMITTED;
      const after = builder.fold(before, entries, left);
      this.#options.omitted?.folded(after, left);
      this.#keep(after);
      folded.push(before.partition);
    }
    if (folded.length === 0) return undefined;
    const batch = { ...builder.batch(), storeId: this.#storeId };
    const { entryCount, accepted = [] } = builder;
    return { batch, judged: judgedIn(stretches), partitions: folded, entryCount, accepted, lifecycle };
  }

  #keep(state: PartitionState): void {
    keepLast(this.#states, state.partition, state, FOLD_CACHE_PARTITIONS_MAX);
  }

  async #write(prepared: Prepared): Promise<void> {
    const { store, hints, telemetry, clock } = this.#options.ports;
    const startedMs = clock.monotonicMs();
    try {
      await store.apply(prepared.batch);
    } catch (error) {
      // R1: a fold on top of this batch is worthless too; the next drain loads rows again.
      this.#forget();
      this.#rehint(prepared.partitions);
      this.#alone = error instanceof InvalidError && error.code === 'batch-two-homes';
      this.#writeError = asRetry(error);
      this.#loop?.wake();
      return;
    }
    telemetry.observe('projection_batch_seconds', (clock.monotonicMs() - startedMs) / 1_000);
    if (this.#options.isRebuilding?.() !== true) {
      countRejected(prepared.batch.rejected, telemetry);
      this.#lifecycle.accept(prepared.lifecycle);
    }
    for (const partition of prepared.partitions) hints.publish('applied', partition);
    const next = new Map(prepared.batch.partitions.map((advance) => [advance.partition, advance.to]));
    this.#options.onApplied(prepared.batch.streams, next, prepared.batch.events);
    this.#options.traces?.accept(prepared.accepted, prepared.batch.partitions);
    // A stopped stream resumes when its partition is loaded again (resume-after-upgrade.ts).
    for (const partition of prepared.judged) this.#states.delete(partition);
    this.hint(prepared.judged);
  }
}

/** An error that causes a retry, if another coordinator has written first. */
function asRetry(error: unknown): unknown {
  if (!(error instanceof ConflictError)) return error;
  const message = 'Another coordinator projected the same partitions; rows are read again.';
  return new UnavailableError('projection-moved', message, { cause: error });
}

function countRejected(rejected: ProjectionBatch['rejected'], telemetry: Telemetry): void {
  for (const { reason } of rejected) {
    telemetry.count('events_rejected_total', 1, { reason });
    if (reason === 'malformed') telemetry.count('records_malformed_total', 1);
  }
}
