/** Owns a view of a log that ends at given offsets, so that rows are compared with what the log had when they were at those offsets. */

import type { Offset, Partition } from '@tidemark/core';
import type { EventLog, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';

type Readable = Pick<EventLog, 'read' | 'bounds'>;

export class BoundedLog implements Readable {
  readonly #log: Readable;
  #ends: ReadonlyMap<Partition, Offset> | undefined;

  constructor(log: Readable) {
    this.#log = log;
  }

  limit(ends: ReadonlyMap<Partition, Offset>): void {
    this.#ends = ends;
  }

  async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.#log.read(requests, options);
    return results.map(({ partition, records, end }) => {
      const last = this.#endOf(partition, end);
      return { partition, records: records.filter(({ offset }) => offset < last), end: last };
    });
  }

  async bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    const bounds = await this.#log.bounds(partitions);
    return new Map(
      [...bounds].map(([partition, { start, end }]) => [partition, { start, end: this.#endOf(partition, end) }]),
    );
  }

  #endOf(partition: Partition, end: Offset): Offset {
    return this.#ends === undefined ? end : (Math.min(this.#ends.get(partition) ?? 0, end) as Offset);
  }
}
