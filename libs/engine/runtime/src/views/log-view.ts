/** Owns what a view of a log passes on: everything that the view does not change. */

import type { Offset, Partition } from '@tidemark/core';
import type { AppendOptions, EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';

export abstract class LogView implements EventLog {
  readonly durability: EventLog['durability'];
  readonly recordMaxBytes: number;
  readonly inlineMaxBytes: number | undefined;
  readonly isSealing: boolean;
  protected readonly inner: EventLog;

  constructor(
    inner: EventLog,
    limits: Pick<EventLog, 'recordMaxBytes' | 'inlineMaxBytes'> & { readonly isSealing?: boolean | undefined } = inner,
  ) {
    this.inner = inner;
    this.durability = inner.durability;
    this.recordMaxBytes = limits.recordMaxBytes;
    this.inlineMaxBytes = limits.inlineMaxBytes;
    this.isSealing = limits.isSealing ?? false;
  }

  abstract read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]>;

  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    return this.inner.append(partition, records, options);
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
