/**
 * Owns a view of the whole history: what the log still has is read from the log, and what was trimmed from verified segments, byte for
 * byte, under the same offsets. Its readers need to know of no tier. It neither archives nor trims by itself.
 */

import { CorruptError, type Offset, type Partition } from '@tidemark/core';
import type { EventLog, PartitionBounds, ReadRequest, ReadResult, StoredRecord } from '@tidemark/ports';
import { LogView } from '../views/index.ts';
import { type Archive, archiveGap, type KnownManifest } from './archive.ts';
import { READS_BETWEEN_TRIMS_MAX } from './limits.ts';

/** Default raw bytes that one read of archived records returns. */
const ARCHIVE_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Segments of several partitions that one read of archived records fetches at once. */
const ARCHIVE_READS_AT_ONCE = 8;

export class TieredLog extends LogView {
  /** The log itself, which begins where it was trimmed. */
  readonly hot: EventLog;
  readonly archive: Archive;
  /** Where logs begin, as far as known: trimmed records never come back. */
  readonly #starts = new Map<Partition, Offset>();
  /** Manifests of the last read, because the next read mostly continues in them. */
  #manifests: ReadonlyMap<Partition, KnownManifest> = new Map();

  constructor(hot: EventLog, archive: Archive) {
    super(hot);
    this.hot = hot;
    this.archive = archive;
  }

  /**
   * Makes one read if the log has all of it, as it nearly always has. A segment is read as a whole, even for one record. If
   * several partitions are in segments, all but the first get nothing once no bytes are left. Several segments are fetched at once.
   */
  override async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    let starts = requests.some((request) => this.#isTrimmed(request)) ? await this.#bounds(requests) : undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        if (starts === undefined) return await this.hot.read(requests, options);
        return await this.#readTiers(requests, starts, options);
      } catch (error) {
        // What was just trimmed is in a segment.
        const isTrimmed = error instanceof CorruptError && error.code === 'log-trimmed';
        if (!isTrimmed || attempt > READS_BETWEEN_TRIMS_MAX) throw error;
        starts = await this.#bounds(requests);
      }
    }
  }

  #isTrimmed({ partition, from }: ReadRequest): boolean {
    return from < (this.#starts.get(partition) ?? 0);
  }

  async #bounds(requests: readonly ReadRequest[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    const bounds = await this.hot.bounds(requests.map(({ partition }) => partition));
    for (const [partition, { start }] of bounds) this.#starts.set(partition, start);
    return bounds;
  }

  async #readTiers(
    requests: readonly ReadRequest[],
    bounds: ReadonlyMap<Partition, PartitionBounds>,
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const isTrimmed = ({ partition, from }: ReadRequest): boolean => from < bounds.get(partition)!.start;
    const [trimmed, held] = [requests.filter(isTrimmed), requests.filter((request) => !isTrimmed(request))];
    const found = new Map<Partition, ReadResult>();
    if (held.length > 0) for (const result of await this.hot.read(held, options)) found.set(result.partition, result);
    const archived = await this.#archived(trimmed, options?.maxBytes ?? ARCHIVE_READ_MAX_BYTES);
    for (const { partition } of trimmed) {
      found.set(partition, { partition, records: archived.get(partition) ?? [], end: bounds.get(partition)!.end });
    }
    return requests.map(({ partition }) => found.get(partition)!);
  }

  /** Reads the partitions in their order, until no bytes are left. */
  async #archived(
    requests: readonly ReadRequest[],
    maxBytes: number,
  ): Promise<ReadonlyMap<Partition, readonly StoredRecord[]>> {
    const found = new Map<Partition, readonly StoredRecord[]>();
    const manifests = new Map<Partition, KnownManifest>();
    let leftBytes = maxBytes;
    for (let at = 0; at < requests.length && (at === 0 || leftBytes > 0); at += ARCHIVE_READS_AT_ONCE) {
      const some = requests.slice(at, at + ARCHIVE_READS_AT_ONCE);
      await Promise.all(some.map(async (each) => manifests.set(each.partition, await this.#manifestAt(each))));
      const wanted = likelyWithin(some, manifests, leftBytes);
      const segments = await Promise.all(
        wanted.map(({ partition }) => this.archive.records(manifests.get(partition)!)),
      );
      for (const [index, { partition, from, to = manifests.get(partition)!.to }] of wanted.entries()) {
        if (found.size > 0 && leftBytes <= 0) break;
        const first = manifests.get(partition)!.from;
        const records = recordsFrom(segments[index]!.slice(0, Math.max(0, to - first)), from - first, leftBytes);
        for (const { value } of records) leftBytes -= value.length;
        found.set(partition, records);
      }
    }
    this.#manifests = manifests;
    return found;
  }

  async #manifestAt({ partition, from }: ReadRequest): Promise<KnownManifest> {
    const last = this.#manifests.get(partition);
    if (last !== undefined && last.from <= from && from < last.to) return last;
    const manifest = await this.archive.manifestAt(partition, from);
    if (manifest === undefined) throw archiveGap(partition, from, this.archive.warm.place);
    return manifest;
  }

  /** Everything that can be read: a partition begins with its first segment. */
  override async bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    const bounds = await this.hot.bounds(partitions);
    return new Map([...bounds].map(([partition, { end }]) => [partition, { start: 0 as Offset, end }]));
  }
}

/** The first request, and those whose segments are likely to be used within the limit. */
function likelyWithin(
  requests: readonly ReadRequest[],
  manifests: ReadonlyMap<Partition, KnownManifest>,
  maxBytes: number,
): readonly ReadRequest[] {
  let leftBytes = maxBytes;
  return requests.filter(({ partition, from }, index) => {
    const isWanted = index === 0 || leftBytes > 0;
    const { from: first, to, rawBytes } = manifests.get(partition)!;
    leftBytes -= (rawBytes * (to - from)) / (to - first);
    return isWanted;
  });
}

/** From that index on, as many records as fit, and at least one. */
function recordsFrom(all: readonly StoredRecord[], first: number, maxBytes: number): readonly StoredRecord[] {
  const records: StoredRecord[] = [];
  let leftBytes = maxBytes;
  for (let at = first; at < all.length; at++) {
    const { offset, value } = all[at]!;
    if (records.length > 0 && value.length > leftBytes) break;
    leftBytes -= value.length;
    records.push({ offset, value });
  }
  return records;
}
