/**
 * Owns the writing of one segment, and the proof that it is right: the object, read back from the store, has the log's records byte for
 * byte, and its manifest has the state that they fold to. It returns a manifest only with that proof, and never trims.
 */

import { hash } from 'node:crypto';
import {
  CorruptError,
  emptyPartition,
  type Offset,
  type Partition,
  type PartitionState,
  type Sha256,
  type TenantId,
} from '@tidemark/core';
import type { EventLog, StoredRecord } from '@tidemark/ports';
import {
  CHAIN_START,
  chainOver,
  type EncodedSegment,
  encodeManifest,
  encodeSegmentAside,
  manifestName,
  type SegmentInput,
  type SegmentManifest,
  segmentName,
} from '@tidemark/segments';
import type { Pace, Ports } from '../kernel/index.ts';
import { type Archive, archiveGap, decodeVerified, type KnownManifest } from './archive.ts';
import { stateAfter } from './archived-state.ts';
import { COMPACTOR_READ_MAX_BYTES } from './limits.ts';
import { differingField } from './manifest-facts.ts';
import { foldedStreams, SegmentBuilder } from './segment-builder.ts';

/** Raw bytes, and events, at which a segment ends. */
const SEGMENT_MAX_BYTES = 16 * 1024 * 1024;
const SEGMENT_MAX_EVENTS = 50_000;

export interface ArchiveWriterOptions {
  readonly ports: Pick<Ports, 'clock'> & { readonly log: EventLog };
  readonly archive: Archive;
  readonly pace: Pace;
  readonly segmentMaxBytes?: number | undefined;
  /** Encodes segment files; by default on other threads. */
  readonly encode?: SegmentEncoder | undefined;
  /** Whether memories written outside of workflows get segments of their own, so that those of workflows can be deleted. */
  readonly parts: (tenant: TenantId) => Promise<boolean>;
}

export type SegmentEncoder = (input: SegmentInput) => EncodedSegment | Promise<EncodedSegment>;

/** The state where a segment begins. */
interface Base {
  readonly state: PartitionState;
  readonly chain: Sha256;
  /** Digest of the previous manifest; null: the partition begins here. */
  readonly previous: Sha256 | null;
}

export class ArchiveWriter {
  readonly #options: ArchiveWriterOptions;

  constructor(options: ArchiveWriterOptions) {
    this.#options = options;
  }

  /** Writes a segment from `from` up to `floor`, unless there is not enough for one. */
  async write(
    partition: Partition,
    from: Offset,
    floor: Offset,
    isEnough: (builder: SegmentBuilder) => boolean,
  ): Promise<KnownManifest | undefined> {
    const base = await this.#baseOf(partition, from);
    const builder = new SegmentBuilder(base.state);
    builder.mixes = false;
    const isWhole = await this.#read(partition, from, floor, builder, this.#options.segmentMaxBytes);
    if (builder.records.length === 0 || !(isWhole || isEnough(builder))) return undefined;
    const { encode = encodeSegmentAside } = this.#options;
    const { bytes, chainAfter } = await encode({ partition, records: builder.records, chainBefore: base.chain });
    const digest = hash('sha256', bytes);
    const to = builder.state.next;
    const object = segmentName(partition, from, to, digest);
    const { atMs, rawBytes } = builder;
    const manifest: SegmentManifest = {
      partition,
      from,
      to,
      object,
      digest,
      bytes: bytes.length,
      rawBytes,
      firstAtMs: atMs.first,
      lastAtMs: atMs.last,
      writtenAtMs: this.#options.ports.clock.nowMs(),
      previous: base.previous,
      chainBefore: base.chain,
      chainAfter,
      generation: builder.state.generation,
      streams: foldedStreams(builder.state),
      workflows: builder.workflows(),
    };
    const { archive, pace } = this.#options;
    await archive.warm.create(object, bytes);
    try {
      await this.#sameRecords(manifest, builder.records);
    } catch (error) {
      const faster = await archive.manifestFrom(partition, from);
      // Another writer's object then counts, and a compactor that noticed may have removed this one already.
      if (faster === undefined || faster.object === object) throw error;
    }
    await pace.spent(bytes.length + rawBytes);
    await archive.warm.create(manifestName(partition, from), encodeManifest(manifest));
    const written = await archive.manifestFrom(partition, from);
    if (written === undefined) throw this.#vanished(manifest);
    if (written.object === object) return this.#sameManifest(written, manifest, builder);
    // Another compactor was faster and chose another end: nobody will ever read this object.
    await archive.warm.remove(object);
    return this.verified(written);
  }

  /** Checks an existing manifest against the log, which still has its stretch. */
  async verified(manifest: KnownManifest): Promise<KnownManifest> {
    const { partition, from, to } = manifest;
    const base = await this.#baseOf(partition, from);
    const builder = new SegmentBuilder(base.state);
    await this.#read(partition, from, to, builder, Number.POSITIVE_INFINITY);
    const { previous, chain: chainBefore } = base;
    const chainAfter = chainOver(chainBefore, builder.records);
    this.#sameManifest(manifest, { previous, chainBefore, chainAfter }, builder);
    await this.#sameRecords(manifest, builder.records);
    return manifest;
  }

  async #baseOf(partition: Partition, from: Offset): Promise<Base> {
    if (from === 0) return { state: emptyPartition(partition, from), chain: CHAIN_START, previous: null };
    const { archive } = this.#options;
    const before = await archive.manifestAt(partition, (from - 1) as Offset);
    if (before === undefined || before.to !== from) throw archiveGap(partition, from, archive.warm.place);
    return { state: await stateAfter(archive, before), chain: before.chainAfter, previous: before.ownDigest };
  }

  /** Adds the log's records; returns whether the segment is full. */
  async #read(
    partition: Partition,
    from: Offset,
    to: Offset,
    builder: SegmentBuilder,
    bytesMax = SEGMENT_MAX_BYTES,
  ): Promise<boolean> {
    const { log } = this.#options.ports;
    for (let at = from; at < to; ) {
      const [result] = await log.read([{ partition, from: at }], { maxBytes: COMPACTOR_READ_MAX_BYTES });
      const records = result!.records.slice(0, to - at);
      if (records.length === 0) return false;
      let readBytes = 0;
      for (const record of records) {
        if (!builder.add(record) && !(await this.#mixed(builder, record))) return true;
        readBytes += record.value.length;
        if (bytesMax === Number.POSITIVE_INFINITY) continue;
        if (builder.rawBytes >= bytesMax || builder.records.length >= SEGMENT_MAX_EVENTS) return true;
      }
      at = (at + records.length) as Offset;
      await this.#options.pace.spent(readBytes);
    }
    return false;
  }

  /** Adds a record of another kind if its tenant's history is kept for ever. False: the segment ends before it. */
  async #mixed(builder: SegmentBuilder, record: StoredRecord): Promise<boolean> {
    if (builder.tenant !== undefined && (await this.#options.parts(builder.tenant))) return false;
    builder.mixes = true;
    return builder.add(record);
  }

  /** C1: read from the store, not from memory. */
  async #sameRecords(manifest: SegmentManifest, records: readonly StoredRecord[]): Promise<void> {
    const { warm } = this.#options.archive;
    const bytes = await warm.read(manifest.object);
    if (bytes === undefined) throw this.#vanished(manifest);
    const stored = decodeVerified(manifest, bytes, warm.place);
    const isSame =
      stored.length === records.length &&
      stored.every(
        ({ offset, value }, at) => offset === records[at]!.offset && Buffer.compare(value, records[at]!.value) === 0,
      );
    if (!isSame) throw this.#differs(manifest, 'records');
  }

  #sameManifest(
    written: KnownManifest,
    expected: Pick<SegmentManifest, 'previous' | 'chainBefore' | 'chainAfter'>,
    builder: SegmentBuilder,
  ): KnownManifest {
    for (const field of ['previous', 'chainBefore', 'chainAfter'] as const) {
      if (written[field] !== expected[field]) throw this.#differs(written, field);
    }
    const field = differingField(written, builder);
    if (field !== undefined) throw this.#differs(written, field);
    return written;
  }

  #differs({ partition, from, to, object }: SegmentManifest, field: string): CorruptError {
    const { place } = this.#options.archive.warm;
    return new CorruptError(
      'archive-differs',
      `Partition ${partition}: the segment of offsets ${from} to ${to} in ${place} is not what the log holds (${field}): it is another log's, or was changed. Nothing is trimmed. Give this log an archive of its own, or move the foreign objects elsewhere.`,
      { partition, from, to, object, field, place },
    );
  }

  #vanished({ partition, object }: SegmentManifest): CorruptError {
    const { place } = this.#options.archive.warm;
    return new CorruptError(
      'archive-lost-write',
      `Partition ${partition}: ${place} acknowledged ${object}, and does not have it. Nothing is trimmed.`,
      { partition, object, place },
    );
  }
}
