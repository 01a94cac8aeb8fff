/**
 * Owns what views of a log that transform records have in common: appends of one partition keep their order while something is prepared for
 * them (L3). It does not know what is transformed.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { AppendOptions, LogRecord, ReadRequest, ReadResult } from '@tidemark/ports';
import { LogView } from './log-view.ts';

export abstract class TransformingLog extends LogView {
  /** The last append of each partition that is being prepared. */
  readonly #waiting = new Map<Partition, Promise<unknown>>();

  /** The records for the log if nothing must be awaited; undefined: they must be prepared. */
  protected abstract atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined;

  /** The records for the log. */
  protected abstract prepare(
    records: readonly LogRecord[],
    options: AppendOptions | undefined,
  ): Promise<readonly LogRecord[]>;

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

  override append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    const before = this.#waiting.get(partition);
    const ready = before === undefined ? this.atOnce(records) : undefined;
    if (ready !== undefined) return this.inner.append(partition, ready, options);
    const preparing = this.prepare(records, options);
    // Passed on in the order of the calls; an append that can't be prepared fails alone.
    const handedOn = Promise.allSettled([before, preparing]).then(async () => {
      const prepared = await preparing;
      options?.signal?.throwIfAborted();
      // In an object, so that the next append doesn't wait for this one's offset.
      return { appended: this.inner.append(partition, prepared, options) };
    });
    const turn = handedOn.catch(() => {});
    this.#waiting.set(partition, turn);
    void turn.then(() => {
      if (this.#waiting.get(partition) === turn) this.#waiting.delete(partition);
    });
    return handedOn.then(({ appended }) => appended);
  }
}
