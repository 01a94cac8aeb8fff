/**
 * Owns reads of the archive: manifests by the offsets that they cover, and the records of segments, which are checked against digest and
 * chain before they are returned. Listings of the object store are hints; offsets decide. It neither writes nor trims (see compactor.ts).
 */

import { hash } from 'node:crypto';
import { CorruptError, type Offset, type Partition, type UnavailableError } from '@tidemark/core';
import type { ObjectStore, Recall } from '@tidemark/ports';
import {
  decodeManifest,
  decodeSegment,
  manifestDigest,
  manifestName,
  manifestPrefix,
  parseManifestName,
  type SegmentManifest,
  type SegmentRecord,
} from '@tidemark/segments';

/** Raw bytes of segments whose records a process caches. */
const ARCHIVE_CACHE_MAX_BYTES = 48 * 1024 * 1024;

export interface ArchiveOptions {
  /** Where segments are written, and can be read at once. */
  readonly warm: ObjectStore;
  /** Where rarely read segments move; absent: they stay. Manifests stay in `warm`. */
  readonly cold?: ObjectStore | undefined;
}

/** A manifest with its own digest, by which the next one names it. */
export interface KnownManifest extends SegmentManifest {
  readonly ownDigest: string;
}

export class Archive {
  readonly warm: ObjectStore;
  readonly cold: ObjectStore | undefined;
  /** Offsets where manifests begin, ascending, by partition. */
  readonly #begins = new Map<Partition, Offset[]>();
  /** Partitions whose manifests were listed once: without a listing, a walk would read each manifest from the beginning. */
  readonly #listed = new Set<Partition>();
  /** Records of recently read segments, by what proved them, least recently used first. */
  readonly #records = new Map<string, { readonly records: readonly SegmentRecord[]; readonly rawBytes: number }>();
  #cachedBytes = 0;
  /** Running reads, by the same key. */
  readonly #loading = new Map<string, Promise<readonly SegmentRecord[]>>();

  constructor({ warm, cold }: ArchiveOptions) {
    this.warm = warm;
    this.cold = cold;
  }

  /** The manifest that begins at the offset. */
  async manifestFrom(partition: Partition, from: Offset): Promise<KnownManifest | undefined> {
    const name = manifestName(partition, from);
    const bytes = await this.warm.read(name);
    if (bytes === undefined) return undefined;
    const manifest = decodeManifest(name, bytes);
    if (manifest.partition !== partition || manifest.from !== from) {
      throw new CorruptError(
        'manifest-damaged',
        `${name} is the manifest of another stretch: it was renamed or copied.`,
        {
          name,
          partition: manifest.partition,
          from: manifest.from,
        },
      );
    }
    this.#learn(partition, from);
    return { ...manifest, ownDigest: manifestDigest(bytes) };
  }

  /** The manifest that covers the offset; undefined: none does. */
  async manifestAt(partition: Partition, at: Offset): Promise<KnownManifest | undefined> {
    if (this.#listed.has(partition)) {
      const known = await this.#walk(partition, at);
      if (known !== undefined) return known;
    }
    await this.#list(partition);
    return this.#walk(partition, at);
  }

  /** Manifests that were found by name stay known, because a listing may be stale. */
  async #list(partition: Partition): Promise<void> {
    for await (const name of this.warm.list(manifestPrefix(partition))) {
      const place = parseManifestName(name);
      if (place?.partition === partition) this.#learn(partition, place.from);
    }
    this.#listed.add(partition);
  }

  /** Walks from the last known beginning at or before the offset, manifest by manifest, and so finds what a stale listing lacks. */
  async #walk(partition: Partition, at: Offset): Promise<KnownManifest | undefined> {
    const begins = this.#begins.get(partition) ?? [];
    const begin = begins[lastAtOrBefore(begins, at)];
    let from = begin ?? (0 as Offset);
    while (from <= at) {
      const manifest = await this.manifestFrom(partition, from);
      if (manifest === undefined) break;
      if (manifest.to > at) return manifest;
      from = manifest.to;
    }
    if (begin === undefined || from !== begin) return undefined;
    // A listing named a manifest that isn't there.
    this.#begins.set(
      partition,
      begins.filter((known) => known !== begin),
    );
    return this.#walk(partition, at);
  }

  #learn(partition: Partition, from: Offset): void {
    const begins = this.#begins.get(partition) ?? [];
    this.#begins.set(partition, begins);
    const before = lastAtOrBefore(begins, from);
    if (begins[before] !== from) begins.splice(before + 1, 0, from);
  }

  /** All manifests from the offset on, in order. */
  async *manifests(partition: Partition, from = 0 as Offset): AsyncIterable<KnownManifest> {
    for (let at = from; ; ) {
      const manifest = await this.manifestFrom(partition, at);
      if (manifest === undefined) return;
      yield manifest;
      at = manifest.to;
    }
  }

  /**
   * The verified records of the segment. Throws `CorruptError` (`segment-missing`, `segment-damaged`, …), `UnavailableError`
   * (`object-archived`: recall it first).
   */
  async records(manifest: SegmentManifest): Promise<readonly SegmentRecord[]> {
    const key = proofOf(manifest);
    const cached = this.#records.get(key);
    if (cached !== undefined) {
      this.#records.delete(key);
      this.#records.set(key, cached);
      return cached.records;
    }
    const underWay = this.#loading.get(key);
    if (underWay !== undefined) return underWay;
    const loading = this.#object(manifest).then((bytes) => decodeVerified(manifest, bytes, this.warm.place));
    this.#loading.set(key, loading);
    try {
      const records = await loading;
      if (this.#loading.get(key) === loading) this.#keep(key, records, manifest.rawBytes);
      return records;
    } finally {
      if (this.#loading.get(key) === loading) this.#loading.delete(key);
    }
  }

  #keep(key: string, records: readonly SegmentRecord[], rawBytes: number): void {
    this.#records.set(key, { records, rawBytes });
    this.#cachedBytes += rawBytes;
    for (const [each, { rawBytes: old }] of this.#records) {
      if (this.#cachedBytes <= ARCHIVE_CACHE_MAX_BYTES || each === key) break;
      this.#records.delete(each);
      this.#cachedBytes -= old;
    }
  }

  /** Requests that the segment's object becomes readable, in whichever store it is. */
  async recall({ object }: Pick<SegmentManifest, 'object'>): Promise<Recall> {
    const warm = await this.warm.recall(object);
    return warm.state === 'absent' && this.cold !== undefined ? this.cold.recall(object) : warm;
  }

  /** Whether the segment was deleted for good: a tombstone says so of this very object. */
  async isDeleted({
    partition,
    from,
    digest,
  }: Pick<SegmentManifest, 'partition' | 'from' | 'digest'>): Promise<boolean> {
    const tombstone = await this.warm.read(tombstoneName(partition, from));
    return tombstone !== undefined && digestIn(tombstone) === digest;
  }

  async #object(manifest: SegmentManifest): Promise<Uint8Array> {
    const { object: name, partition, from, to } = manifest;
    const bytes = (await this.warm.read(name)) ?? (await this.cold?.read(name));
    if (bytes !== undefined) return bytes;
    if (await this.isDeleted(manifest)) {
      throw new CorruptError(
        'segment-deleted',
        `Events ${from} to ${to} of partition ${partition} were deleted for good, as the tenant's retention says.`,
        { partition, from, to },
      );
    }
    throw new CorruptError(
      'segment-missing',
      this.cold === undefined
        ? `${name} is not in ${this.warm.place}, and this process was given no cold store: set TIDEMARK_COLD_URL if there is one, else restore it from a copy.`
        : `${name} is in neither ${this.warm.place} nor ${this.cold.place}: restore it from a copy.`,
      { name },
    );
  }

  /** Drops cached records, for callers that must see what is stored now. */
  forget(): void {
    this.#records.clear();
    this.#loading.clear();
    this.#cachedBytes = 0;
  }
}

/** The name of the tombstone of a segment that was deleted for good. */
export const tombstoneName = (partition: Partition, from: Offset): string =>
  manifestName(partition, from).replace(/^manifests/, 'deleted');

/** Undefined: the tombstone is truncated or changed. */
function digestIn(tombstone: Uint8Array): unknown {
  try {
    return (JSON.parse(Buffer.from(tombstone).toString()) as { readonly digest?: unknown } | null)?.digest;
  } catch {
    return undefined;
  }
}

/** Everything that records are checked against: the same object under another manifest is checked again. */
const proofOf = ({ object, digest, bytes, partition, from, to, chainBefore, chainAfter }: SegmentManifest): string =>
  [object, digest, bytes, partition, from, to, chainBefore, chainAfter].join(' ');

/** The records, if bytes, chain and stretch match the manifest. */
export function decodeVerified(manifest: SegmentManifest, bytes: Uint8Array, place: string): readonly SegmentRecord[] {
  const { object, digest, partition, from, to, chainBefore, chainAfter } = manifest;
  const details = { object, place };
  if (bytes.length !== manifest.bytes || hash('sha256', bytes) !== digest) {
    throw new CorruptError(
      'segment-damaged',
      `${object} in ${place} has other bytes than its manifest says (${bytes.length} of ${manifest.bytes}): it was cut short or changed. Restore it from a copy; nothing is trimmed meanwhile.`,
      details,
    );
  }
  const segment = decodeSegment(bytes);
  const isTheOne = segment.partition === partition && segment.from === from && segment.to === to;
  if (isTheOne && segment.chainBefore === chainBefore && segment.chainAfter === chainAfter) return segment.records;
  throw new CorruptError(
    'segment-damaged',
    `${object} in ${place} holds another stretch of events than its manifest says.`,
    details,
  );
}

/** Index of the last offset that is not greater; -1: none. */
function lastAtOrBefore(rising: readonly Offset[], at: Offset): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The error where history is needed that no manifest covers. */
export const archiveGap = (partition: Partition, at: Offset, place: string): UnavailableError | CorruptError =>
  new CorruptError(
    'archive-gap',
    `Partition ${partition} was trimmed, and no segment in ${place} covers offset ${at}. Give the archive that holds it (or restore its manifests and segments from a copy).`,
    { partition, at, place },
  );
