/**
 * Owns one view of the whole history: what the log still holds is read from the log, and what was trimmed from verified segments, byte
 * for byte, under the same offsets. Whoever reads through it needs to know of no tier. Must not archive or trim by itself.
 */

import { CorruptError, type Offset, type Partition } from '@tidemark/core';
import type {
  AppendOptions,
  EventLog,
  LogRecord,
  PartitionBounds,
  ReadRequest,
  ReadResult,
  StoredRecord,
} from '@tidemark/ports';
import { type Archive, archiveGap } from './archive.ts';
import { ARCHIVE_READ_MAX_BYTES, READS_BETWEEN_TRIMS_MAX } from './limits.ts';

export class TieredLog implements EventLog {
  readonly durability: EventLog['durability'];
  readonly recordMaxBytes: number;
  /** The log itself, whose start is where it was trimmed to. */
  readonly hot: EventLog;
  readonly archive: Archive;
  /** As far as it is known where the log begins: what was trimmed stays trimmed. */
  readonly #starts = new Map<Partition, Offset>();

  constructor(hot: EventLog, archive: Archive) {
    this.hot = hot;
    this.archive = archive;
    this.durability = hot.durability;
    this.recordMaxBytes = hot.recordMaxBytes;
  }

  partitionCount(): Promise<number> {
    return this.hot.partitionCount();
  }

  growTo(count: number): Promise<number> {
    return this.hot.growTo(count);
  }

  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    return this.hot.append(partition, records, options);
  }

  /**
   * In one go where the log has all of it, as it nearly always has. Of several partitions that are read from segments, those get nothing
   * for which no bytes are left, but for the first: a segment is read as a whole, also for one record.
   */
  async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    let starts = requests.some((request) => this.#isTrimmed(request)) ? await this.#bounds(requests) : undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        if (starts === undefined) return await this.hot.read(requests, options);
        return await this.#readTiers(requests, starts, options);
      } catch (error) {
        // What was just trimmed is in a segment; it is trimmed at most once.
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
    let leftBytes = options?.maxBytes ?? ARCHIVE_READ_MAX_BYTES;
    for (const request of trimmed) {
      const records = request !== trimmed[0] && leftBytes <= 0 ? [] : await this.#archived(request, leftBytes);
      for (const { value } of records) leftBytes -= value.length;
      const { end } = bounds.get(request.partition)!;
      found.set(request.partition, { partition: request.partition, records, end });
    }
    return requests.map(({ partition }) => found.get(partition)!);
  }

  async #archived({ partition, from }: ReadRequest, maxBytes: number): Promise<readonly StoredRecord[]> {
    const manifest = await this.archive.manifestAt(partition, from);
    if (manifest === undefined) throw archiveGap(partition, from, this.archive.warm.place);
    const all = await this.archive.records(manifest);
    const records: StoredRecord[] = [];
    let leftBytes = maxBytes;
    for (let at = from - manifest.from; at < all.length; at++) {
      const { offset, value } = all[at]!;
      if (records.length > 0 && value.length > leftBytes) break;
      leftBytes -= value.length;
      records.push({ offset, value });
    }
    return records;
  }

  /** All that can be read: a partition begins with its first segment. */
  async bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    const bounds = await this.hot.bounds(partitions);
    return new Map([...bounds].map(([partition, { end }]) => [partition, { start: 0 as Offset, end }]));
  }

  trim(partition: Partition, before: Offset): Promise<void> {
    return this.hot.trim(partition, before);
  }

  sizeBytes(): Promise<number> {
    return this.hot.sizeBytes();
  }

  close(): Promise<void> {
    return this.hot.close();
  }
}
