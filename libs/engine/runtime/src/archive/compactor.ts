/**
 * Owns the way of history from the log into segments. For each stretch of a partition, in this order: read and fold; write the object; read
 * it back and compare every record with the log's; create the manifest; record the segment in the store; trim the log; delete hot rows. A
 * pass begins with what the last one left undone, so it may die between any two of these steps, and several may run at once: a manifest's
 * name can be created only once, and everything else is harmless when repeated.
 *
 * C1 The log is trimmed only to the end of a segment whose manifest exists and whose bytes, read from the object store by this pass, match
 *    the log record for record; and never beyond the floor that rows gave (I7).
 * C2 Rows of history are deleted only after the log was trimmed, and only those of workflows that ended in a segment.
 * C3 Wall clocks decide when, never what: while the clocks of compactor and store disagree, nothing is done.
 */

import { ConfigError, type Offset, type Partition, TidemarkError, UnavailableError } from '@tidemark/core';
import { type EventLog, type PartitionFloor, RANGE_COUNT, type SegmentRow } from '@tidemark/ports';
import { MEMORY_DEFINITION } from '../agent/index.ts';
import { RANGE_RENEW_PERIOD_MS, RANGE_TTL_MS } from '../coordinator/index.ts';
import {
  failingCheck,
  type Health,
  type Loop,
  type Pace,
  type Ports,
  progressCheck,
  startLoop,
} from '../kernel/index.ts';
import type { KnownManifest } from './archive.ts';
import { ArchiveWriter, type SegmentEncoder } from './archive-writer.ts';
import { dropArchived, settleArchived } from './archived-rows.ts';
import { SEGMENTS_PAGE_COUNT } from './limits.ts';
import { Retention, type RetentionOptions, type RetentionReport } from './retention.ts';
import { checkRetention, DEFAULT_RETENTION, type RetentionPolicy } from './retention-policy.ts';
import { SegmentOrphans } from './segment-orphans.ts';
import { segmentRow } from './segment-rows.ts';
import { StorageGauges } from './storage-gauges.ts';

/** A stretch waits until it has this many raw bytes, or until its oldest event is older than the hot window by this long. */
const SEGMENT_MIN_BYTES = 1024 * 1024;
const SEGMENT_WAIT_MAX_MS = 86_400_000;
/** Partitions that a compactor works on at once: each holds a segment's records and its file in memory. */
const COMPACTOR_PARTITIONS_AT_ONCE = 2;
/** Pause between two passes of the compactor, in milliseconds. */
const COMPACTOR_PERIOD_MS = 60_000;
/** While the clocks of compactor and store differ by more than this, in milliseconds, nothing is archived or deleted. */
const CLOCKS_APART_MAX_MS = 60_000;
/** How long restored rows are kept, in milliseconds; and workflows whose rows one transaction drops. */
export const RESTORED_ROWS_KEPT_MS = 86_400_000;
const RESTORED_ROWS_PAGE_COUNT = 100;
/** Period of the poll of storage sizes, in milliseconds: each reads the lengths of all rows. */
const STORAGE_POLL_MS = 3_600_000;
/** A compactor is not ready when its passes have failed for this long, in milliseconds. */
const READY_COMPACTION_FAILING_MS = 2 * COMPACTOR_PERIOD_MS;

const COMPACTION = 'compaction';

export interface CompactorPolicy {
  /** How long a closed workflow stays in log and rows, in milliseconds. */
  readonly hotMs: number;
  /** Raw bytes at which a segment ends. */
  readonly segmentMaxBytes?: number;
  /** A smaller stretch, in raw bytes, waits for more. */
  readonly segmentMinBytes?: number;
  /** Longest such wait after the hot window, in milliseconds. */
  readonly segmentWaitMs?: number;
  /** Pause between two passes, in milliseconds. */
  readonly periodMs?: number;
  /** The policy of tenants that have none of their own. */
  readonly retention?: RetentionPolicy;
}

export interface CompactorOptions extends Pick<RetentionOptions, 'archive' | 'deletions' | 'blobs' | 'onError'> {
  /** `log`: the log itself, not a view that also reads segments. */
  readonly ports: Pick<Ports, 'store' | 'clock' | 'telemetry'> & { readonly log: EventLog };
  readonly policy: CompactorPolicy;
  readonly pace: Pace;
  /** See `ArchiveWriterOptions`. */
  readonly encode?: SegmentEncoder;
  /** This incarnation's name among compactors; never reused. */
  readonly name: string;
  readonly onSegment?: (segment: SegmentRow) => void;
}

/** The result of one pass. */
export interface PassReport extends RetentionReport {
  readonly segmentCount: number;
  readonly eventCount: number;
  readonly rawBytes: number;
  readonly bytes: number;
  /** Partitions that failed; each failure was reported. */
  readonly failedCount: number;
}

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #writer: ArchiveWriter;
  readonly #retention: Retention;
  readonly #orphans: SegmentOrphans;
  readonly #stopped = new AbortController();
  /** Partitions with nothing left undone. */
  readonly #settled = new Set<Partition>();
  /** The store id of the tables, as the last pass saw it. */
  #storeId: string | undefined;
  readonly #storage: StorageGauges;
  #loops: ReadonlyMap<string, Loop> = new Map();
  /** Called at each step of a pass, because a whole pass may take hours. */
  #moved = (): void => {};

  /** Throws `ConfigError` (`retention-invalid`). */
  constructor(options: CompactorOptions) {
    refusePolicy(options.policy);
    this.#options = options;
    const { retention = DEFAULT_RETENTION } = options.policy;
    const { signal: stopped } = this.#stopped;
    this.#retention = new Retention({ ...options, policy: checkRetention(retention), stopped });
    this.#writer = new ArchiveWriter({
      ...options,
      segmentMaxBytes: options.policy.segmentMaxBytes,
      parts: (tenant) => this.#retention.deletes(tenant),
    });
    this.#orphans = new SegmentOrphans({ ...options, ...options.ports, archive: options.archive });
    this.#storage = new StorageGauges(options.ports);
  }

  start(): void {
    const { clock } = this.#options.ports;
    const loop = (body: (moved: () => void) => Promise<unknown>, periodMs: number, where: string): [string, Loop] => [
      where,
      startLoop(async (moved) => void (await body(moved)), {
        clock,
        periodMs,
        onError: (error) => this.#options.onError(where, error),
      }),
    ];
    const pass = (moved: () => void): Promise<PassReport> => {
      this.#moved = moved;
      return this.pass();
    };
    this.#loops = new Map([
      loop(pass, this.#options.policy.periodMs ?? COMPACTOR_PERIOD_MS, COMPACTION),
      loop(() => this.reportStorage(), STORAGE_POLL_MS, 'report of storage'),
    ]);
  }

  /** Ready: its passes succeed. */
  health(): Health {
    const compaction = this.#loops.get(COMPACTION)?.state();
    if (compaction === undefined) return { ready: [], live: [] };
    return {
      ready: [failingCheck(COMPACTION, compaction, READY_COMPACTION_FAILING_MS)],
      live: [progressCheck(COMPACTION, compaction)],
    };
  }

  /** Resolves once the current step has ended; no half-done step needs to be undone. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(Array.from(this.#loops.values(), (loop) => loop.stop()));
    await this.#options.ports.store.releaseRanges(this.#options.name).catch(() => {});
  }

  /**
   * Runs once over the caller's share of the partitions. Throws failures that concern all of them; a failure of one partition is reported
   * and skipped.
   */
  async pass(): Promise<PassReport> {
    const { ports, policy } = this.#options;
    const ranges = await this.#share();
    const sharedMs = ports.clock.monotonicMs();
    const nowMs = await this.#agreedNowMs();
    const isOwn = ({ partition }: Pick<SegmentRow, 'partition'>): boolean => {
      // Called for each segment, also by those parts of the pass that move or delete segments.
      this.#moved();
      return pass.ranges.has(partition % RANGE_COUNT);
    };
    const report = { segmentCount: 0, eventCount: 0, rawBytes: 0, bytes: 0, failedCount: 0 };
    const pass: Pass = { nowMs, ranges, sharedMs, isOver: false, isOwn, report };
    await this.#noticeLoss();
    await this.#noticeOthers(isOwn);
    const floors = await ports.store.floors(nowMs - policy.hotMs, [MEMORY_DEFINITION]);
    const bounds = await ports.log.bounds();
    // Starts at another partition each time: a process that keeps dying early would otherwise never reach the last.
    const first = Math.floor(sharedMs) % Math.max(1, floors.length);
    const left = [...floors.slice(first), ...floors.slice(0, first)].values();
    // While one lane waits for a server or another thread, another folds.
    const lanes = Array.from({ length: COMPACTOR_PARTITIONS_AT_ONCE }, () => this.#lane(left, bounds, pass));
    for (const lane of await Promise.allSettled(lanes)) if (lane.status === 'rejected') throw lane.reason;
    await this.#dropRestored(nowMs);
    return { ...report, ...(await this.#retention.pass(nowMs, isOwn)) };
  }

  /** Works through partitions that no other lane has taken, one after the other. */
  async #lane(
    left: Iterable<PartitionFloor>,
    bounds: Awaited<ReturnType<EventLog['bounds']>>,
    pass: Pass,
  ): Promise<void> {
    const { clock } = this.#options.ports;
    for (const floor of left) {
      if (this.#stopped.signal.aborted || pass.isOver) return;
      this.#moved();
      try {
        if (clock.monotonicMs() - pass.sharedMs > RANGE_RENEW_PERIOD_MS) {
          pass.sharedMs = clock.monotonicMs();
          pass.ranges = await this.#share();
        }
        const start = bounds.get(floor.partition)?.start;
        if (start === undefined || !pass.isOwn(floor)) continue;
        await this.#partition(floor, start, pass);
      } catch (error) {
        this.#settled.delete(floor.partition);
        this.#orphans.forget((partition) => partition === floor.partition);
        // Another compactor has trimmed further meanwhile.
        if (error instanceof TidemarkError && error.code === 'log-trimmed') continue;
        pass.report.failedCount++;
        this.#options.onError(`partition ${floor.partition}`, error);
        if (!isOfAll(error)) continue;
        pass.isOver = true;
        throw error;
      }
    }
  }

  /** Sets the gauges of storage; only one of several compactors does. */
  async reportStorage(): Promise<void> {
    if ((await this.#share()).has(0)) await this.#storage.report();
  }

  /** After a long step several compactors may hold a range at once; that costs only work. */
  async #share(): Promise<ReadonlySet<number>> {
    const { ports, name } = this.#options;
    return new Set(await ports.store.shareRanges(name, RANGE_TTL_MS, 'compact'));
  }

  /** C3. */
  async #agreedNowMs(): Promise<number> {
    const { store, clock } = this.#options.ports;
    const beforeMs = clock.nowMs();
    const storeMs = await store.nowMs();
    const apartMs = Math.max(beforeMs - storeMs, storeMs - clock.nowMs());
    if (apartMs <= CLOCKS_APART_MAX_MS) return Math.min(storeMs, beforeMs);
    throw new UnavailableError(
      'clocks-apart',
      `The clocks of this machine and of the store are ${Math.round(apartMs / 1_000)} s apart: which history is old enough is unknown. Nothing is archived or trimmed until they agree within ${CLOCKS_APART_MAX_MS / 1_000} s.`,
      { apartMs, maxMs: CLOCKS_APART_MAX_MS },
    );
  }

  async #partition({ partition, floor, next }: PartitionFloor, start: Offset, pass: Pass): Promise<void> {
    const { log } = this.#options.ports;
    const { nowMs, report } = pass;
    if (!this.#settled.has(partition)) await this.#settle(partition, start, next);
    await this.#orphans.poll(partition);
    for (let from = start; from < floor && !this.#stopped.signal.aborted && !pass.isOver; ) {
      const manifest = await this.#archived(partition, from, floor, nowMs);
      if (manifest === undefined || manifest.to > floor) return;
      const segment = segmentRow(manifest);
      await this.#options.ports.store.recordSegments([segment]);
      await log.trim(partition, manifest.to);
      // C2.
      await dropArchived(this.#options.ports.store, segment);
      await this.#orphans.beside(manifest);
      from = manifest.to;
      this.#count(segment, report);
    }
  }

  /** A verified segment from that offset on, written now or earlier; undefined: there is not enough yet. */
  async #archived(
    partition: Partition,
    from: Offset,
    floor: Offset,
    nowMs: number,
  ): Promise<KnownManifest | undefined> {
    const written = await this.#options.archive.manifestFrom(partition, from);
    if (written !== undefined) return this.#writer.verified(written);
    const { policy } = this.#options;
    return this.#writer.write(partition, from, floor, ({ rawBytes, atMs, workflowCount }) => {
      if (rawBytes >= (policy.segmentMinBytes ?? SEGMENT_MIN_BYTES))
        return workflowCount > 0 || rawBytes >= SEGMENT_MIN_BYTES;
      // A partition with nothing but fences gets no segment; they go into a later one.
      return workflowCount > 0 && atMs.first <= nowMs - policy.hotMs - (policy.segmentWaitMs ?? SEGMENT_WAIT_MAX_MS);
    });
  }

  /** Rebuilt rows know no segments, and may have rows again that were dropped. */
  async #noticeLoss(): Promise<void> {
    const storeId = await this.#options.ports.store.storeId();
    if (storeId !== this.#storeId) this.#settled.clear();
    this.#storeId = storeId;
  }

  /**
   * Unsettles partitions. One may have been another compactor's meanwhile, even between two of these passes, and that one may have died
   * between trimming it and deleting its rows. The index shows such segments.
   */
  async #noticeOthers(isOwn: (of: Pick<SegmentRow, 'partition'>) => boolean): Promise<void> {
    for (const partition of this.#settled) if (!isOwn({ partition })) this.#settled.delete(partition);
    this.#orphans.forget((partition) => !isOwn({ partition }));
    for (let after: SegmentRow | undefined; ; ) {
      const query = { rowsDropped: false, limit: SEGMENTS_PAGE_COUNT, ...(after !== undefined && { after }) };
      const page: readonly SegmentRow[] = await this.#options.ports.store.segments(query);
      for (const { partition } of page) this.#settled.delete(partition);
      if (page.length < SEGMENTS_PAGE_COUNT) return;
      after = page.at(-1);
    }
  }

  /** Completes what a pass that died, or a loss of rows, left undone for trimmed segments. */
  async #settle(partition: Partition, start: Offset, next: Offset): Promise<void> {
    const { archive, ports } = this.#options;
    if (await settleArchived(archive, ports.store, partition, { start, next })) this.#settled.add(partition);
  }

  async #dropRestored(nowMs: number): Promise<void> {
    const { store } = this.#options.ports;
    while (!this.#stopped.signal.aborted) {
      const count = await store.dropRestored(nowMs - RESTORED_ROWS_KEPT_MS, RESTORED_ROWS_PAGE_COUNT);
      if (count < RESTORED_ROWS_PAGE_COUNT) return;
    }
  }

  #count(segment: SegmentRow, report: MutableReport): void {
    const { telemetry } = this.#options.ports;
    this.#moved();
    report.segmentCount++;
    report.eventCount += segment.eventCount;
    report.rawBytes += segment.rawBytes;
    report.bytes += segment.bytes;
    // A segment belongs to one tenant; one with nothing but fences to none.
    const of = segment.workflows[0] === undefined ? {} : { tenant: segment.workflows[0].tenant };
    telemetry.count('segments_written_total', 1, of);
    telemetry.count('segment_bytes_total', segment.bytes, of);
    telemetry.count('archived_bytes_total', segment.rawBytes, of);
    this.#options.onSegment?.(segment);
  }
}

/** One run over the partitions, shared by its lanes. */
interface Pass {
  readonly nowMs: number;
  ranges: ReadonlySet<number>;
  /** When the ranges were divided, on the monotonic clock. */
  sharedMs: number;
  /** Something failed that concerns every partition. */
  isOver: boolean;
  readonly isOwn: (of: Pick<SegmentRow, 'partition'>) => boolean;
  readonly report: MutableReport;
}

type MutableReport = Record<'segmentCount' | 'eventCount' | 'rawBytes' | 'bytes' | 'failedCount', number>;

/** An unavailable server concerns every partition; a partition's content concerns only that one. */
const isOfAll = (error: unknown): boolean => !(error instanceof TidemarkError) || error instanceof UnavailableError;

function refusePolicy({ hotMs }: CompactorPolicy): void {
  if (Number.isFinite(hotMs) && hotMs > 0) return;
  throw new ConfigError(
    'retention-invalid',
    `hot: ${hotMs} ms is not a time for which closed workflows can stay in the log. Nothing is archived or trimmed. Give a positive duration, such as 7d.`,
    { field: 'hot', hotMs },
  );
}
