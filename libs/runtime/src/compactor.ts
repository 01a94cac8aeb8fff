/**
 * Owns the way of history from the log into segments. For each stretch of a partition, in this order: read and fold; write the object;
 * read it back and hold every record against the log's; create the manifest; record the segment in the store; trim the log; delete hot
 * rows. A pass begins with what the last one left undone, so it may die between any two of these, and several may do the same at once:
 * the manifest's name is created once, and everything else is harmless when repeated.
 *
 * C1 The log is trimmed only to the end of a segment whose manifest is there and whose bytes, read from the object store by this pass,
 *    are the log's own, record for record; and never past the floor that the rows had (I7).
 * C2 Rows of history go only after the log was trimmed, and only those of workflows that ended in a segment.
 * C3 Wall clocks say when, never what: where compactor and store disagree about the time, nothing is done.
 */

import { ConfigError, type Offset, type Partition, TidemarkError, UnavailableError } from '@tidemark/core';
import { type EventLog, type PartitionFloor, RANGE_COUNT, type SegmentRow } from '@tidemark/ports';
import type { Archive, KnownManifest } from './archive.ts';
import { ArchiveWriter } from './archive-writer.ts';
import { type Loop, startLoop } from './backoff.ts';
import {
  CLOCKS_APART_MAX_MS,
  COMPACTOR_PERIOD_MS,
  RANGE_RENEW_PERIOD_MS,
  RANGE_TTL_MS,
  RESTORED_ROWS_KEPT_MS,
  RESTORED_ROWS_PAGE_COUNT,
  SEGMENT_MIN_BYTES,
  SEGMENT_WAIT_MAX_MS,
  SEGMENTS_PAGE_COUNT,
} from './limits.ts';
import { MEMORY_DEFINITION } from './memory-streams.ts';
import type { Pace } from './pace.ts';
import type { Ports } from './ports.ts';
import { Retention } from './retention.ts';
import { checkRetention, DEFAULT_RETENTION, type RetentionPolicy } from './retention-policy.ts';
import { recordManifests, segmentRow } from './segment-rows.ts';

export interface CompactorPolicy {
  /** How long a workflow that has closed stays in log and rows, in milliseconds. */
  readonly hotMs: number;
  /** A segment ends at so many raw bytes. */
  readonly segmentMaxBytes?: number;
  /** What is smaller, in raw bytes, waits for more. */
  readonly segmentMinBytes?: number;
  /** But no longer than this after the hot window, in milliseconds. */
  readonly segmentWaitMs?: number;
  /** Pause between two passes, in milliseconds. */
  readonly periodMs?: number;
  /** Of tenants without one of their own. */
  readonly retention?: RetentionPolicy;
}

export interface CompactorOptions {
  /** `log`: the log itself, not a view that reads segments as well. */
  readonly ports: Pick<Ports, 'store' | 'clock' | 'telemetry'> & { readonly log: EventLog };
  readonly archive: Archive;
  readonly policy: CompactorPolicy;
  readonly pace: Pace;
  /** This incarnation's name among compactors; never reused. */
  readonly name: string;
  readonly onError: (where: string, error: unknown) => void;
  readonly onSegment?: (segment: SegmentRow) => void;
}

/** What one pass did. */
export interface PassReport {
  readonly segmentCount: number;
  readonly eventCount: number;
  readonly rawBytes: number;
  readonly bytes: number;
  /** Partitions of which something went wrong; each was told. */
  readonly failedCount: number;
  /** Segments that moved to the cold store, that were deleted for good, and that would have been, were they not held. */
  readonly cooledCount: number;
  readonly deletedCount: number;
  readonly heldCount: number;
}

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #writer: ArchiveWriter;
  readonly #retention: Retention;
  readonly #stopped = new AbortController();
  /** Partitions of which nothing is left undone. */
  readonly #settled = new Set<Partition>();
  /** Of the store's tables, as the last pass saw them. */
  #incarnation: string | undefined;
  #loop: Loop | undefined;

  /** Throws `ConfigError` (`retention-invalid`). */
  constructor(options: CompactorOptions) {
    refusePolicy(options.policy);
    this.#options = options;
    const { retention = DEFAULT_RETENTION } = options.policy;
    this.#retention = new Retention({ ...options, policy: checkRetention(retention) });
    this.#writer = new ArchiveWriter({ ...options, segmentMaxBytes: options.policy.segmentMaxBytes });
  }

  start(): void {
    const { clock } = this.#options.ports;
    this.#loop = startLoop(async () => void (await this.pass()), {
      clock,
      periodMs: this.#options.policy.periodMs ?? COMPACTOR_PERIOD_MS,
      onError: (error) => this.#options.onError('compaction', error),
    });
  }

  /** Resolves once the step that is under way has ended; nothing half done has to be undone. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop?.stop();
    await this.#options.ports.store.releaseRanges(this.#options.name).catch(() => {});
  }

  /** Goes once over the caller's share of the partitions. Throws what concerns all of them; what concerns one is told and passed. */
  async pass(): Promise<PassReport> {
    const { ports, policy } = this.#options;
    let ranges = await this.#share();
    let sharedMs = ports.clock.monotonicMs();
    const nowMs = await this.#agreedNowMs();
    await this.#noticeLoss();
    const floors = await ports.store.floors(nowMs - policy.hotMs, [MEMORY_DEFINITION]);
    const bounds = await ports.log.bounds();
    const report = { segmentCount: 0, eventCount: 0, rawBytes: 0, bytes: 0, failedCount: 0 };
    const isOwn = ({ partition }: Pick<SegmentRow, 'partition'>): boolean => ranges.has(partition % RANGE_COUNT);
    for (const floor of floors) {
      if (this.#stopped.signal.aborted) break;
      if (ports.clock.monotonicMs() - sharedMs > RANGE_RENEW_PERIOD_MS) {
        sharedMs = ports.clock.monotonicMs();
        ranges = await this.#share();
      }
      const start = bounds.get(floor.partition)?.start;
      if (start === undefined || !isOwn(floor)) continue;
      try {
        await this.#partition(floor, start, nowMs, report);
      } catch (error) {
        this.#settled.delete(floor.partition);
        // Another compactor has come further meanwhile.
        if (error instanceof TidemarkError && error.code === 'log-trimmed') continue;
        report.failedCount++;
        this.#options.onError(`partition ${floor.partition}`, error);
        if (isOfAll(error)) throw error;
      }
    }
    await this.#dropRestored(nowMs);
    return { ...report, ...(await this.#retention.pass(nowMs, isOwn)) };
  }

  /** Several may have a range at one moment, after a long step of one of them; that costs work alone. */
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
      `The clocks of this machine and of the store are ${Math.round(apartMs / 1_000)} s apart: which history is old enough is unknown. Nothing is archived or trimmed until they agree to ${CLOCKS_APART_MAX_MS / 1_000} s.`,
      { apartMs, maxMs: CLOCKS_APART_MAX_MS },
    );
  }

  async #partition(
    { partition, floor, next }: PartitionFloor,
    start: Offset,
    nowMs: number,
    report: MutableReport,
  ): Promise<void> {
    const { log } = this.#options.ports;
    if (!this.#settled.has(partition)) await this.#settle(partition, start, next);
    for (let from = start; from < floor && !this.#stopped.signal.aborted; ) {
      const manifest = await this.#archived(partition, from, floor, nowMs);
      if (manifest === undefined || manifest.to > floor) return;
      const segment = segmentRow(manifest);
      await this.#options.ports.store.recordSegments([segment]);
      await log.trim(partition, manifest.to);
      await this.#dropRows(segment);
      from = manifest.to;
      this.#count(segment, report);
    }
  }

  /** A verified segment from that offset on, written now or by someone before; undefined: there is not enough yet. */
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
      // Fences alone are worth no segment; they go with what follows.
      return workflowCount > 0 && atMs.first <= nowMs - policy.hotMs - (policy.segmentWaitMs ?? SEGMENT_WAIT_MAX_MS);
    });
  }

  /** Rows that were made anew know of no segment, and may have what was dropped. */
  async #noticeLoss(): Promise<void> {
    const incarnation = await this.#options.ports.store.incarnation();
    if (incarnation !== this.#incarnation) this.#settled.clear();
    this.#incarnation = incarnation;
  }

  /** What a pass that died, or rows that were lost, left undone about segments that are trimmed. */
  async #settle(partition: Partition, start: Offset, next: Offset): Promise<void> {
    const { store } = this.#options.ports;
    if (start > 0) {
      // Rows that were made anew, or are those of an older copy, don't know all of what was trimmed.
      const recorded = await store.recordedEvents(partition, start);
      if (recorded < start) await recordManifests(this.#options.archive, store, partition, start);
      // While rows are made anew, what was dropped comes back up to where they stand.
      const isSettled = await this.#dropUpTo(partition, Math.min(start, next) as Offset);
      if (!isSettled || next < start) return;
    }
    this.#settled.add(partition);
  }

  /** Returns whether that was all there is. */
  async #dropUpTo(partition: Partition, end: Offset): Promise<boolean> {
    const { store } = this.#options.ports;
    const kept = await store.segments({ partition, rowsDropped: false, limit: SEGMENTS_PAGE_COUNT });
    for (const segment of kept) if (segment.to <= end) await this.#dropRows(segment);
    return kept.length < SEGMENTS_PAGE_COUNT;
  }

  /** C2. */
  async #dropRows(segment: SegmentRow): Promise<void> {
    const ended = segment.workflows.flatMap(({ workflow, closes }) => (closes ? [workflow] : []));
    await this.#options.ports.store.dropRows(segment, ended);
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
    report.segmentCount++;
    report.eventCount += segment.eventCount;
    report.rawBytes += segment.rawBytes;
    report.bytes += segment.bytes;
    telemetry.count('segments_written_total', 1);
    telemetry.count('segment_bytes_total', segment.bytes);
    telemetry.count('archived_bytes_total', segment.rawBytes);
    this.#options.onSegment?.(segment);
  }
}

type MutableReport = Record<'segmentCount' | 'eventCount' | 'rawBytes' | 'bytes' | 'failedCount', number>;

/** Another server's absence concerns every partition; what one partition holds concerns that one. */
const isOfAll = (error: unknown): boolean => !(error instanceof TidemarkError) || error instanceof UnavailableError;

function refusePolicy({ hotMs }: CompactorPolicy): void {
  if (Number.isFinite(hotMs) && hotMs > 0) return;
  throw new ConfigError(
    'retention-invalid',
    `hot: ${hotMs} ms is no time that closed workflows stay in the log. Nothing is archived or trimmed. Give a positive duration, such as 7d.`,
    { field: 'hot', hotMs },
  );
}
