/**
 * Owns what views of a log that transform records have in common: appends of one partition keep their order while something is prepared for
 * them (L3), and everything else is passed to the log. It does not know what is transformed.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { AppendOptions, EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';

/** An append in its transformed form. */
export interface Prepared {
  readonly records: readonly LogRecord[];
  /** Runs when the append's turn has come, before it goes to the log. */
  readonly confirm?: () => Promise<void>;
  /** Runs once it is stored. */
  readonly stored?: () => Promise<void>;
}

export abstract class TransformingLog implements EventLog {
  readonly durability: EventLog['durability'];
  abstract readonly recordMaxBytes: number;
  abstract readonly inlineMaxBytes: number | undefined;
  protected readonly inner: EventLog;
  /** The last append of each partition that is being prepared. */
  readonly #waiting = new Map<Partition, Promise<unknown>>();

  constructor(inner: EventLog) {
    this.inner = inner;
    this.durability = inner.durability;
  }

  /** The records for the log if nothing must be awaited; undefined: they must be prepared. */
  protected abstract atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined;

  protected abstract prepare(records: readonly LogRecord[], options: AppendOptions | undefined): Promise<Prepared>;

  abstract read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]>;

  /** The results of the log below, without records that the request does not want. */
  protected async readInner(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.inner.read(requests, options);
    return results.map((result, index) => {
      const { wanted } = requests[index]!;
      return wanted ? { ...result, records: result.records.filter(({ offset }) => wanted.has(offset)) } : result;
    });
  }

  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    const before = this.#waiting.get(partition);
    const ready = before === undefined ? this.atOnce(records) : undefined;
    if (ready !== undefined) return this.inner.append(partition, ready, options);
    const preparing = this.prepare(records, options);
    // Passed on in the order of the calls; an append that can't be prepared fails alone.
    const handedOn = Promise.allSettled([before, preparing]).then(async () => {
      const prepared = await preparing;
      await prepared.confirm?.();
      options?.signal?.throwIfAborted();
      return { prepared, appended: this.inner.append(partition, prepared.records, options) };
    });
    const turn = handedOn.catch(() => {});
    this.#waiting.set(partition, turn);
    void turn.then(() => {
      if (this.#waiting.get(partition) === turn) this.#waiting.delete(partition);
    });
    return handedOn.then(async ({ prepared, appended }) => {
      const offset = await appended;
      await prepared.stored?.();
      return offset;
    });
  }

  partitionCount(): Promise<number> {
    return this.inner.partitionCount();
  }

  growTo(count: number): Promise<number> {
    return this.inner.growTo(count);
  }

  bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    return this.inner.bounds(partitions);
  }

  trim(partition: Partition, before: Offset): Promise<void> {
    return this.inner.trim(partition, before);
  }

  sizeBytes(): Promise<number> {
    return this.inner.sizeBytes();
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
