/**
 * Owns an EventLog in memory with faults that the test chooses: appends that are delayed, stored twice, or preceded by someone else's
 * records. For unit tests and simulation; it survives nothing, and says so.
 */

import { CorruptError, InvalidError, LimitError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type {
  AppendOptions,
  EventLog,
  LogRecord,
  PartitionBounds,
  ReadRequest,
  ReadResult,
  StoredRecord,
} from '@tidemark/ports';

/** So many of the largest records are one append at most. */
const APPEND_MAX_RECORDS = 8;

interface Stored {
  start: number;
  readonly values: Uint8Array[];
}

export class SimulatedLog implements EventLog {
  readonly durability = 'process';
  readonly recordMaxBytes: number;
  readonly #partitions: Stored[];
  #before: ((partition: Partition) => readonly Uint8Array[]) | undefined;
  #copyNextCount = 0;
  #hold: Promise<void> | undefined;
  #closed = false;
  /** Reads served, for tests that assert that none was needed. */
  readCount = 0;
  appendCount = 0;

  constructor(partitionCount: number, recordMaxBytes = 1_048_576, partitions: Stored[] = []) {
    this.recordMaxBytes = recordMaxBytes;
    this.#partitions = partitions;
    while (partitions.length < partitionCount) partitions.push({ start: 0, values: [] });
  }

  /** The same records, as another process has them, or this one once it has opened the log again. */
  again(): SimulatedLog {
    return new SimulatedLog(0, this.recordMaxBytes, this.#partitions);
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

  async append(partition: Partition, records: readonly LogRecord[], { signal }: AppendOptions = {}): Promise<Offset> {
    this.#of(partition);
    if (records.length === 0) throw new InvalidError('append-empty', 'An append has records.');
    const large = records.find((record) => record.value.length > this.recordMaxBytes);
    if (large !== undefined) throw new LimitError('record-too-large', `A record has ${large.value.length} bytes.`);
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0);
    if (bytes > APPEND_MAX_RECORDS * this.recordMaxBytes)
      throw new LimitError('append-too-large', `An append has ${bytes} bytes.`);
    if (this.#closed) throw new UnavailableError('append-closed', 'The log was closed.');
    if (signal?.aborted === true) throw new UnavailableError('append-aborted', 'Given up.', { cause: signal.reason });
    await this.#hold;
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

  async read(
    requests: readonly ReadRequest[],
    { maxBytes = Number.POSITIVE_INFINITY }: { readonly maxBytes?: number } = {},
  ): Promise<readonly ReadResult[]> {
    this.readCount++;
    let leftBytes = maxBytes;
    return this.poll(requests).map((result) => {
      const count = result.records.findIndex(({ value }, index) => {
        const isOver = index > 0 && value.length > leftBytes;
        if (!isOver) leftBytes -= value.length;
        return isOver;
      });
      return count < 0 ? result : { ...result, records: result.records.slice(0, count) };
    });
  }

  /** The current answer of `read`; at most so many records of each partition. */
  poll(requests: readonly ReadRequest[], recordsMax = Number.POSITIVE_INFINITY): readonly ReadResult[] {
    this.#mustBeOpen();
    if (new Set(requests.map(({ partition }) => partition)).size < requests.length)
      throw new InvalidError('read-repeated', 'A read names each partition once.');
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
    this.#mustBeOpen();
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
    const count = before - stored.start;
    if (count > stored.values.length)
      throw new InvalidError('trim-past-end', `Partition ${partition} has no ${before}.`);
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
    if (stored === undefined) throw new InvalidError('partition-unknown', `There is no partition ${partition}.`);
    return stored;
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new UnavailableError('log-closed', 'The log was closed.');
  }
}
