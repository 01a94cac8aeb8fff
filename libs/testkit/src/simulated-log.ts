/**
 * Owns an EventLog in memory with faults that the test chooses: appends that are delayed, stored twice, or preceded by someone else's
 * records. For unit tests and simulation; it survives nothing, and says so.
 */

import { CorruptError, LimitError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type { EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult, StoredRecord } from '@tidemark/ports';

interface Stored {
  start: number;
  readonly values: Uint8Array[];
}

export class SimulatedLog implements EventLog {
  readonly durability = 'process';
  readonly recordMaxBytes: number;
  readonly #partitions: Stored[] = [];
  #before: ((partition: Partition) => readonly Uint8Array[]) | undefined;
  #copyNextCount = 0;
  #hold: Promise<void> | undefined;
  #closed = false;
  /** Reads served, for tests that assert that none was needed. */
  readCount = 0;
  appendCount = 0;

  constructor(partitionCount: number, recordMaxBytes = 1_048_576) {
    this.recordMaxBytes = recordMaxBytes;
    for (let index = 0; index < partitionCount; index++) this.#partitions.push({ start: 0, values: [] });
  }

  /** Someone else's records, stored just before the next append. */
  interpose(values: readonly Uint8Array[]): void {
    this.#before = () => values;
  }

  /** The next append is stored twice, as after an ambiguous request; the answer names the second copy. */
  copyNext(): void {
    this.#copyNextCount++;
  }

  /** Appends wait until the returned function is called; they are stored then. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hold = promise;
    return () => {
      this.#hold = undefined;
      resolve();
    };
  }

  async partitionCount(): Promise<number> {
    return this.#partitions.length;
  }

  async growTo(count: number): Promise<number> {
    while (this.#partitions.length < count) this.#partitions.push({ start: 0, values: [] });
    return this.#partitions.length;
  }

  async append(partition: Partition, records: readonly LogRecord[]): Promise<Offset> {
    const large = records.find((record) => record.value.length > this.recordMaxBytes);
    if (large !== undefined) throw new LimitError('record-too-large', `A record has ${large.value.length} bytes.`);
    await this.#hold;
    if (this.#closed) throw new UnavailableError('log-closed', 'The log was closed.');
    return this.store(partition, records);
  }

  /** Stores at once what `append` stores. */
  store(partition: Partition, records: readonly LogRecord[]): Offset {
    const stored = this.#of(partition);
    stored.values.push(...(this.#before?.(partition) ?? []));
    this.#before = undefined;
    const values = records.map((record) => record.value);
    if (this.#copyNextCount > 0) {
      this.#copyNextCount--;
      stored.values.push(...values);
    }
    const base = (stored.start + stored.values.length) as Offset;
    stored.values.push(...values);
    this.appendCount++;
    return base;
  }

  async read(requests: readonly ReadRequest[]): Promise<readonly ReadResult[]> {
    this.readCount++;
    return this.poll(requests);
  }

  /** The current answer of `read`; at most so many records of each partition. */
  poll(requests: readonly ReadRequest[], recordsMax = Number.POSITIVE_INFINITY): readonly ReadResult[] {
    return requests.map(({ partition, from, to = Number.POSITIVE_INFINITY }) => {
      const stored = this.#of(partition);
      const end = (stored.start + stored.values.length) as Offset;
      if (from < stored.start) {
        throw new CorruptError('log-trimmed', `Partition ${partition} begins at ${stored.start}.`, {
          partition,
          from,
          start: stored.start,
        });
      }
      if (from > end)
        throw new CorruptError('log-past-end', `Partition ${partition} ends at ${end}.`, { partition, from, end });
      const records: StoredRecord[] = stored.values
        .slice(from - stored.start, Math.min(from + recordsMax, Math.max(from, to)) - stored.start)
        .map((value, index) => ({ offset: (from + index) as Offset, value }));
      return { partition, records, end };
    });
  }

  async bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    const wanted = partitions ?? this.#partitions.map((_, index) => index as Partition);
    return new Map(
      wanted.map((partition) => {
        const { start, values } = this.#of(partition);
        return [partition, { start: start as Offset, end: (start + values.length) as Offset }];
      }),
    );
  }

  async trim(partition: Partition, before: Offset): Promise<void> {
    const stored = this.#of(partition);
    const count = Math.min(before - stored.start, stored.values.length);
    if (count <= 0) return;
    stored.values.splice(0, count);
    stored.start += count;
  }

  async sizeBytes(): Promise<number> {
    let total = 0;
    for (const { values } of this.#partitions) for (const value of values) total += value.length;
    return total;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #of(partition: Partition): Stored {
    const stored = this.#partitions[partition];
    if (stored === undefined) throw new UnavailableError('partition-missing', `There is no partition ${partition}.`);
    return stored;
  }
}
