/**
 * Owns the set of all referenced blobs: by records in the log, records in segments that are not deleted, and rows. Log and manifests never
 * change, so each part is read once a process. It throws rather than miss a reference, and removes no blobs.
 *
 * A manifest's list of blobs is trusted if the next manifest names it by digest: an attacker would have to change all later ones, and those
 * are checked against the log. Nothing vouches for the newest manifest, so its segment is read. Only if that is in an archive class is the
 * newest trusted too, because a sweep requests no recalls.
 */

import { recordBlob } from '@tidemark/codec';
import { CorruptError, type Offset, type Partition } from '@tidemark/core';
import { blobReferenceOf, type EventLog, type PartitionBounds, type ProjectionStore } from '@tidemark/ports';
import { parseManifestName } from '@tidemark/segments';
import { isArchivedObject, logGap } from '../history/index.ts';
import type { Pace } from '../kernel/index.ts';
import { type Archive, archiveGap, type KnownManifest } from './archive.ts';
import { isProvedDeleted, isReported, unproved } from './deletions.ts';
import { COMPACTOR_READ_MAX_BYTES, READS_BETWEEN_TRIMS_MAX } from './limits.ts';

/** Texts of rows with references to blobs, in one page. */
const BLOB_REFERENCES_PAGE_COUNT = 5_000;

export interface BlobReferencesOptions {
  /** The log itself. */
  readonly log: EventLog;
  readonly store: Pick<ProjectionStore, 'blobReferences' | 'memories'>;
  readonly archive: Archive;
  readonly pace: Pace;
}

/** The digests that the stretch `[from, to)` references. */
interface Stretch {
  readonly from: Offset;
  readonly to: Offset;
  readonly digests: readonly string[];
}

interface Known {
  /** First offset that has not been read. */
  next: Offset;
  /** Stretches that reference blobs. */
  stretches: Stretch[];
}

const TOMBSTONES = 'deleted/';

export class BlobReferences {
  readonly #options: BlobReferencesOptions;
  readonly #known = new Map<Partition, Known>();
  /** Names of tombstones that were applied. */
  readonly #applied = new Set<string>();

  constructor(options: BlobReferencesOptions) {
    this.#options = options;
  }

  /** Digests of all referenced blobs. Throws what reading throws, and `CorruptError` (`archive-gap`, `log-past-end`). */
  async all(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const digests = new Set<string>();
    for (const [partition, bounds] of await this.#options.log.bounds()) {
      signal.throwIfAborted();
      await this.#catchUp(partition, bounds, signal);
    }
    await this.#applyTombstones();
    for (const { stretches } of this.#known.values()) {
      for (const stretch of stretches) for (const digest of stretch.digests) digests.add(digest);
    }
    await this.#addRows(digests);
    return digests;
  }

  async #catchUp(partition: Partition, bounds: PartitionBounds, signal: AbortSignal): Promise<void> {
    let { start } = bounds;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#readSegments(partition, start);
        await this.#readLog(partition, bounds.end, signal);
        return;
      } catch (error) {
        // Archived meanwhile: manifests now list what was trimmed.
        const isTrimmed = error instanceof CorruptError && error.code === 'log-trimmed';
        if (!isTrimmed || attempt > READS_BETWEEN_TRIMS_MAX) throw error;
        start = (await this.#options.log.bounds([partition])).get(partition)!.start;
      }
    }
  }

  #of(partition: Partition): Known {
    const known = this.#known.get(partition) ?? { next: 0 as Offset, stretches: [] };
    this.#known.set(partition, known);
    return known;
  }

  #add(known: Known, stretch: Stretch): void {
    if (stretch.digests.length > 0) known.stretches.push(stretch);
    known.next = stretch.to;
  }

  /** Reads what lies before the log's start. */
  async #readSegments(partition: Partition, start: Offset): Promise<void> {
    const { archive } = this.#options;
    const known = this.#of(partition);
    let manifest = known.next < start ? await archive.manifestAt(partition, known.next) : undefined;
    while (known.next < start) {
      if (manifest === undefined) throw archiveGap(partition, known.next, archive.warm.place);
      const next = await archive.manifestFrom(partition, manifest.to);
      if (next !== undefined && next.previous !== manifest.ownDigest) throw chainBroken(manifest);
      this.#add(known, { from: manifest.from, to: manifest.to, digests: await this.#named(manifest, next) });
      manifest = next;
    }
  }

  async #named(manifest: KnownManifest, next: KnownManifest | undefined): Promise<readonly string[]> {
    const { blobs } = manifest;
    if (next !== undefined) return blobs;
    try {
      return await this.#inSegment(manifest);
    } catch (error) {
      if (!isArchivedObject(error)) throw error;
      return blobs;
    }
  }

  /** Digests by the segment's records. A deleted segment references nothing. */
  async #inSegment(manifest: KnownManifest): Promise<readonly string[]> {
    const { archive, pace, store } = this.#options;
    try {
      const digests = digestsIn(await archive.records(manifest));
      await pace.spent(manifest.bytes);
      return digests;
    } catch (error) {
      const isDeleted = error instanceof CorruptError && error.code === 'segment-deleted';
      if (isDeleted && !(await isReported(store, manifest))) throw unproved(manifest);
      if (isDeleted) return [];
      throw error;
    }
  }

  async #readLog(partition: Partition, end: Offset, signal: AbortSignal): Promise<void> {
    const { log, pace } = this.#options;
    const known = this.#of(partition);
    if (known.next > end) throw logReplaced(partition, known.next, end);
    while (known.next < end) {
      signal.throwIfAborted();
      const from = known.next;
      const [result] = await log.read([{ partition, from }], { maxBytes: COMPACTOR_READ_MAX_BYTES });
      const { records } = result!;
      if (records.length === 0) throw logGap(partition, from);
      for (const record of records) {
        const to = (record.offset + 1) as Offset;
        this.#add(known, { from: record.offset, to, digests: digestsIn([record]) });
      }
      await pace.spent(records.reduce((sum, { value }) => sum + value.length, 0));
    }
  }

  /**
   * Applies tombstones: a deleted segment references nothing. A tombstone that the listing lacks, or that the log does not confirm, only
   * keeps blobs longer.
   */
  async #applyTombstones(): Promise<void> {
    const { archive, store } = this.#options;
    const { warm } = archive;
    for await (const name of warm.list(TOMBSTONES)) {
      if (this.#applied.has(name)) continue;
      const place = parseManifestName(`manifests/${name.slice(TOMBSTONES.length)}`);
      const manifest = place && (await archive.manifestFrom(place.partition, place.from));
      if (manifest === undefined || !(await isProvedDeleted(archive, store, manifest))) continue;
      const known = this.#of(manifest.partition);
      known.stretches = known.stretches.filter(({ from, to }) => from < manifest.from || to > manifest.to);
      this.#applied.add(name);
    }
  }

  async #addRows(digests: Set<string>): Promise<void> {
    let after: string | null = null;
    for (;;) {
      const page: readonly string[] = await this.#options.store.blobReferences(after, BLOB_REFERENCES_PAGE_COUNT);
      for (const text of page) {
        const reference = blobReferenceOf(text);
        if (reference !== undefined) digests.add(reference.digest);
      }
      if (page.length < BLOB_REFERENCES_PAGE_COUNT) return;
      after = page.at(-1)!;
    }
  }
}

const digestsIn = (records: readonly { readonly value: Uint8Array }[]): readonly string[] =>
  records.flatMap(({ value }) => recordBlob(value)?.digest ?? []);

const logReplaced = (partition: Partition, next: Offset, end: Offset): CorruptError =>
  new CorruptError(
    'log-past-end',
    `Partition ${partition} ends at ${end}, and was read up to ${next} before: the log was replaced. No blob is removed.`,
    { partition, from: next, end },
  );

const chainBroken = ({ partition, from, to }: KnownManifest): CorruptError =>
  new CorruptError(
    'chain-broken',
    `Partition ${partition}: the manifest at ${to} does not follow the one at ${from}: one of the two was changed or replaced. No blob is removed. Run \`tidemark admin verify\`, and restore what was changed from a copy.`,
    { partition, from, to },
  );
