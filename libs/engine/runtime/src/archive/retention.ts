/**
 * Owns the ageing of segments, by each tenant's policy: warm, cold, deleted. Each step may be repeated, and a process may die between any
 * two.
 *
 * T1 An object leaves the warm store only once the cold one has all of it.
 * T2 A segment is deleted only when all of its workflows have ended, longer ago than their tenant's policy says by every recorded time, and
 *    when no hold covers any of them. Before anything else, the deletion is recorded as an event of the tenant (see deletions.ts), and a
 *    tombstone is written beside the object before it goes; the manifest stays, and links the chain. (A segment has workflows of one
 *    tenant.)
 * T3 A workflow's large payloads go with the last segment that has events of it, before that one counts as deleted. Of two such segments
 *    that are deleted at once, each has its tombstone before it looks at the other.
 * T4 What is uncertain deletes nothing: a policy or hold that can't be read, rows that are still being rebuilt, or an index of segments
 *    that lacks some of those that T3 compares.
 */

import { hash } from 'node:crypto';
import {
  CorruptError,
  type Offset,
  type TenantId,
  TidemarkError,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { BlobStore, SegmentRow } from '@tidemark/ports';
import { isMemoryStream } from '../agent/index.ts';
import { isArchivedObject } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import type { Archive, KnownManifest } from './archive.ts';
import { tombstoneName } from './archive.ts';
import { type Deletion, deletionOf, isProvedDeleted } from './deletions.ts';
import { SEGMENTS_PAGE_COUNT } from './limits.ts';
import { type LegalHold, type RetentionPolicy, retentionOf } from './retention-policy.ts';

/** Longest wait of a compactor for rows to show a segment's deletion; the segment stays until they do. */
export const DELETION_REPORTED_MAX_MS = 30_000;

/** Records deletions in the log. */
export interface DeletionWriter {
  deletes(tenant: TenantId, deletion: Deletion): Promise<void>;
}

export interface RetentionOptions {
  readonly ports: Pick<Ports, 'store' | 'telemetry' | 'clock'>;
  readonly archive: Archive;
  readonly deletions: DeletionWriter;
  /** Absent: there are no large payloads. */
  readonly blobs?: Pick<BlobStore, 'removeAll'> | undefined;
  /** Ends a wait for the log and its rows; nothing more is deleted then. */
  readonly stopped: AbortSignal;
  /** For tenants without a policy of their own. */
  readonly policy: RetentionPolicy;
  readonly onError: (where: string, error: unknown) => void;
}

export interface RetentionReport {
  /** Segments that moved to the cold store. */
  readonly cooledCount: number;
  /** Segments that were deleted for good. */
  readonly deletedCount: number;
  /** Segments that are kept only by a hold. */
  readonly heldCount: number;
  /** Segments that are kept only because a workflow in them is open or ended too recently, or a fork shares them. */
  readonly unendedCount: number;
  /** Segments that are kept only because the index lacks others; each pass warns of them. */
  readonly unindexedCount: number;
}

interface Terms {
  readonly policy: RetentionPolicy;
  readonly holds: readonly LegalHold[];
}

type Growing = { -readonly [K in keyof RetentionReport]: RetentionReport[K] };

export class Retention {
  readonly #options: RetentionOptions;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Runs once over the caller's segments of all tenants. `nowMs`: a time on which all clocks agree. */
  async pass(nowMs: number, isOwn: (segment: SegmentRow) => boolean): Promise<RetentionReport> {
    const { store } = this.#options.ports;
    const report: Growing = { cooledCount: 0, deletedCount: 0, heldCount: 0, unendedCount: 0, unindexedCount: 0 };
    // Policies, holds and forks that are not yet folded would be missed.
    if (!(await store.ready())) return report;
    for (const tenant of await store.segmentTenants()) {
      try {
        await this.#tenant(tenant, nowMs, isOwn, report);
      } catch (error) {
        if (!(error instanceof TidemarkError) || error instanceof UnavailableError) throw error;
        this.#options.onError(`history of tenant ${tenant}`, error);
      }
    }
    return report;
  }

  async #tenant(
    tenant: TenantId,
    nowMs: number,
    isOwn: (segment: SegmentRow) => boolean,
    report: Growing,
  ): Promise<void> {
    const { keepMs, warmMs } = (await this.#termsOf(tenant)).policy;
    const before = report.unindexedCount;
    if (keepMs !== null) {
      for (const tier of ['warm', 'cold'] as const) {
        await this.#each({ tenant, tier, beforeMs: nowMs - keepMs }, isOwn, (segment) =>
          this.#delete(tenant, segment, nowMs, report),
        );
      }
    }
    const unindexedCount = report.unindexedCount - before;
    if (unindexedCount > 0) this.#options.onError(`history of tenant ${tenant}`, unindexed(tenant, unindexedCount));
    if (this.#options.archive.cold === undefined) return;
    await this.#each({ tenant, tier: 'warm', beforeMs: nowMs - warmMs }, isOwn, (segment) =>
      this.#cool(segment, nowMs - warmMs, report),
    );
  }

  /** Whether the tenant's policy deletes anything; true if it can't be read, because it may. */
  async deletes(tenant: TenantId): Promise<boolean> {
    try {
      return (await this.#termsOf(tenant)).policy.keepMs !== null;
    } catch (error) {
      if (!(error instanceof TidemarkError) || error instanceof UnavailableError) throw error;
      return true;
    }
  }

  /** The terms that apply now. */
  async #termsOf(tenant: TenantId): Promise<Terms> {
    const { policy, holds } = await retentionOf(this.#options.ports.store, tenant);
    return { policy: policy ?? this.#options.policy, holds };
  }

  async #each(
    query: { readonly tenant: TenantId; readonly tier: 'warm' | 'cold'; readonly beforeMs: number },
    isOwn: (segment: SegmentRow) => boolean,
    work: (segment: SegmentRow) => Promise<void>,
  ): Promise<void> {
    let after: SegmentRow | undefined;
    for (;;) {
      const page: readonly SegmentRow[] = await this.#options.ports.store.segments({
        ...query,
        ...(after !== undefined && { after }),
        limit: SEGMENTS_PAGE_COUNT,
      });
      for (const segment of page) if (isOwn(segment) && segment.rowsDropped) await this.#attempt(segment, work);
      after = page.at(-1);
      if (page.length < SEGMENTS_PAGE_COUNT) return;
    }
  }

  /** A segment that can't be moved does not hold up the others. */
  async #attempt(segment: SegmentRow, work: (segment: SegmentRow) => Promise<void>): Promise<void> {
    try {
      await work(segment);
    } catch (error) {
      if (!(error instanceof TidemarkError) || error instanceof UnavailableError) throw error;
      this.#options.onError(`segment ${segment.object}`, error);
    }
  }

  /** T1. History that a live workflow or a fork continues may be read at any moment: it stays warm. */
  async #cool(segment: SegmentRow, beforeMs: number, report: Growing): Promise<void> {
    const { archive, ports } = this.#options;
    if (!(await ports.store.isPast(segment, beforeMs))) return;
    const { warm, cold } = archive;
    const { object, digest } = segment;
    const bytes = await warm.read(object);
    if (bytes !== undefined) {
      if (hash('sha256', bytes) !== digest) throw damaged(segment, warm.place);
      const isNew = await cold!.create(object, bytes);
      if (!(await this.#isCold(segment, isNew))) return;
    } else if ((await cold!.recall(object)).state === 'absent') throw damaged(segment, warm.place);
    // Another compactor deleted it meanwhile: this copy must not bring it back.
    const manifest = await this.#manifestOf(segment);
    if (await isProvedDeleted(archive, ports.store, manifest)) return cold!.remove(object);
    await warm.remove(object);
    await ports.store.setTier(segment, 'cold');
    report.cooledCount++;
  }

  /**
   * Whether the cold store provably has the object. One that an archive class does not return at once was checked when it was written, if
   * that was now; otherwise it is recalled, and checked once it is readable.
   */
  async #isCold({ object, digest, ...segment }: SegmentRow, isNew: boolean): Promise<boolean> {
    const cold = this.#options.archive.cold!;
    let stored: Uint8Array | undefined;
    try {
      stored = await cold.read(object);
    } catch (error) {
      if (!isArchivedObject(error)) throw error;
      if (!isNew) await cold.recall(object);
      return isNew;
    }
    if (stored !== undefined && hash('sha256', stored) === digest) return true;
    throw damaged({ ...segment, object, digest }, cold.place);
  }

  /** T2: by the terms that apply at this moment, because a pass may take long. */
  async #delete(tenant: TenantId, segment: SegmentRow, nowMs: number, report: Growing): Promise<void> {
    const { archive, ports } = this.#options;
    const { policy, holds } = await this.#termsOf(tenant);
    if (policy.keepMs === null) return;
    const beforeMs = nowMs - policy.keepMs;
    if (!isBefore(segment, beforeMs)) return;
    // Such a segment has policies, holds and certificates as well: memories outside of workflows stay until they are forgotten.
    if (segment.workflows.every(({ workflow }) => isMemoryStream(workflow))) return;
    if (!(await ports.store.isPast(segment, beforeMs))) {
      report.unendedCount++;
      return;
    }
    if (areHeld(segment, holds)) {
      report.heldCount++;
      return;
    }
    if (!(await ports.store.ready())) return;
    if (this.#options.blobs !== undefined && !(await this.#isIndexed(segment))) {
      report.unindexedCount++;
      return;
    }
    await this.#report(tenant, deletionOf(await this.#manifestOf(segment)));
    // A hold that was placed while the deletion was recorded comes first.
    if (areHeld(segment, (await this.#termsOf(tenant)).holds)) {
      report.heldCount++;
      return;
    }
    const { partition, from, to, object, digest } = segment;
    const note = { partition, from, to, object, digest, reason: 'retention' };
    await archive.warm.create(tombstoneName(partition, from), Buffer.from(`${JSON.stringify(note)}\n`));
    await archive.warm.remove(object);
    await archive.cold?.remove(object);
    await this.#removeBlobs(segment);
    await ports.store.setTier(segment, 'deleted');
    report.deletedCount++;
  }

  /** T3. */
  async #removeBlobs(segment: SegmentRow): Promise<void> {
    for (const { workflow } of segment.workflows) {
      if (await this.#isLast(segment, workflow)) await this.#options.blobs?.removeAll(workflow);
    }
  }

  /**
   * Whether the index has all segments up to the ends of the segment's workflows. Where it lacks one, what is last is unknown, and no later
   * pass would ask again.
   */
  async #isIndexed({ partition, workflows }: SegmentRow): Promise<boolean> {
    for (const { workflow } of workflows) {
      let end: Offset | undefined;
      for await (const other of this.#segmentsOf(workflow)) {
        if (other.workflows.some((part) => part.workflow === workflow && part.closes)) end = other.to;
      }
      if (end === undefined || (await this.#options.ports.store.recordedEvents(partition, end)) !== end) return false;
    }
    return true;
  }

  /** Whether every other segment with events of the workflow is deleted. */
  async #isLast({ from }: SegmentRow, workflow: WorkflowId): Promise<boolean> {
    const { archive, ports } = this.#options;
    for await (const other of this.#segmentsOf(workflow)) {
      if (other.from === from || other.tier === 'deleted') continue;
      if (!(await isProvedDeleted(archive, ports.store, await this.#manifestOf(other)))) return false;
    }
    return true;
  }

  async *#segmentsOf(workflow: WorkflowId): AsyncIterable<SegmentRow> {
    for (let after: SegmentRow | undefined; ; ) {
      const query = { workflow, limit: SEGMENTS_PAGE_COUNT, ...(after !== undefined && { after }) };
      const page: readonly SegmentRow[] = await this.#options.ports.store.segments(query);
      yield* page;
      if (page.length < SEGMENTS_PAGE_COUNT) return;
      after = page.at(-1);
    }
  }

  /** Throws `UnavailableError` (`deletion-untold`): rows don't show the record in time, for example because no coordinator runs. */
  async #report(tenant: TenantId, deletion: Deletion): Promise<void> {
    const { deletions, ports, stopped } = this.#options;
    const ended = new AbortController();
    const late = ports.clock
      .sleep(DELETION_REPORTED_MAX_MS, AbortSignal.any([ended.signal, stopped]))
      .then(() => 'late');
    const reported = deletions.deletes(tenant, deletion);
    try {
      if ((await Promise.race([reported, late])) === 'late') throw unreported(deletion);
    } finally {
      ended.abort();
      // A record that arrives late counts for the next pass.
      reported.catch(() => {});
    }
  }

  /** The manifest in the object store. Throws `CorruptError` (`manifest-damaged`: it is not the one that rows name). */
  async #manifestOf({ partition, from, object, digest }: SegmentRow): Promise<KnownManifest> {
    const { archive } = this.#options;
    const manifest = await archive.manifestFrom(partition, from);
    if (manifest?.object === object && manifest.digest === digest) return manifest;
    throw new CorruptError(
      'manifest-damaged',
      `The manifest of partition ${partition} at ${from} in ${archive.warm.place} is missing or names another segment than ${object}. The segment stays where it is; restore the manifest from a copy.`,
      { partition, from, object },
    );
  }
}

const unreported = ({ object }: Deletion): UnavailableError =>
  new UnavailableError(
    'deletion-untold',
    `${object} must be deleted, but rows don't show the record of its deletion yet. It was not deleted yet; start a coordinator, which writes that row.`,
    { object },
  );

const unindexed = (tenant: TenantId, count: number): CorruptError =>
  new CorruptError(
    'index-incomplete',
    `${count} segments that the policy of tenant ${tenant} would delete stay: the index of segments lacks others of their workflows. Start the compactor anew, which reads the index from the archive; where that lacks them too, tidemark admin verify says what is missing.`,
    { tenant, count },
  );

const areHeld = ({ workflows }: SegmentRow, holds: readonly LegalHold[]): boolean =>
  workflows.some(({ workflow }) => holds.some((hold) => covers(hold, workflow)));

const covers = (hold: LegalHold, workflow: WorkflowId): boolean => hold.workflow === null || hold.workflow === workflow;

/** By every recorded time. */
const isBefore = ({ writtenAtMs, lastAtMs }: SegmentRow, beforeMs: number): boolean =>
  writtenAtMs < beforeMs && lastAtMs < beforeMs;

const damaged = ({ object }: SegmentRow, place: string): CorruptError =>
  new CorruptError(
    'segment-damaged',
    `${object} in ${place} is missing or has other bytes than were archived. It stays where it is; restore it from a copy.`,
    { object, place },
  );
