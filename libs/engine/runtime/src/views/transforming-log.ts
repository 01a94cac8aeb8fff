/**
 * Owns what views of a log have in common that change records on their way: appends of one partition keep their order while something is
 * prepared for them (L3), and everything else is the log's own. Must not know what is changed.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { AppendOptions, EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';

/** What an append has become. */
export interface Prepared {
  readonly records: readonly LogRecord[];
  /** Asked when its turn has come, before it goes to the log. */
  readonly confirm?: () => Promise<void>;
  /** Asked once it is stored. */
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

  /** What goes to the log, where nothing has to be waited for; undefined: it must be prepared. */
  protected abstract atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined;

  protected abstract prepare(records: readonly LogRecord[], options: AppendOptions | undefined): Promise<Prepared>;

  abstract read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]>;

  /** What the log below has of it, without what nobody wants. */
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
    // Handed on in the order of the calls; what can't be prepared fails alone.
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
