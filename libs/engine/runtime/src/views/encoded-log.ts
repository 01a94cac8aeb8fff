/**
 * Owns the view of a log whose records have another form below it: encodings turn what is appended into that form, one after the other, and
 * what is read back again. Appends of one partition keep their order while an encoding prepares something for them (L3). It does not know
 * what is encoded.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { AppendOptions, EventLog, LogRecord, ReadRequest, ReadResult, StoredRecord } from '@tidemark/ports';
import { LogView } from './log-view.ts';

/** What callers of a log may append, and what it does by itself. */
export interface LogLimits extends Pick<EventLog, 'recordMaxBytes' | 'inlineMaxBytes'> {
  readonly isSealing?: boolean | undefined;
}

export interface RecordEncoding {
  /** The limits for callers, given the limits of the form below. Called once, before all else. */
  over(below: LogLimits): LogLimits;
  /** The records in their encoded form if nothing must be awaited; undefined: they must be prepared. */
  atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined;
  prepare(records: readonly LogRecord[], options: AppendOptions | undefined): Promise<readonly LogRecord[]>;
  /**
   * The results as they were before. It may leave out the last records of a partition, unless none would have any. `first`: the index of
   * the result that is decoded first.
   */
  decode(results: readonly ReadResult[], first: number, maxBytes: number | undefined): Promise<readonly ReadResult[]>;
}

export class EncodedLog extends LogView {
  /** In the order in which records are encoded. */
  readonly #encodings: readonly RecordEncoding[];
  /** The last append of each partition that is being prepared. */
  readonly #waiting = new Map<Partition, Promise<unknown>>();
  /** The partition whose records are decoded first: without turns, others would wait for ever behind a busy one. */
  #turn = 0;

  constructor(inner: EventLog, ...encodings: readonly RecordEncoding[]) {
    super(
      inner,
      encodings.reduceRight<LogLimits>((below, encoding) => encoding.over(below), inner),
    );
    this.#encodings = encodings;
  }

  override append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    const before = this.#waiting.get(partition);
    let ready = records;
    let count = 0;
    for (; before === undefined && count < this.#encodings.length; count++) {
      const encoded = this.#encodings[count]!.atOnce(ready);
      if (encoded === undefined) break;
      ready = encoded;
    }
    if (count === this.#encodings.length) return this.inner.append(partition, ready, options);
    const preparing = this.#prepare(ready, this.#encodings.slice(count), options);
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

  async #prepare(
    records: readonly LogRecord[],
    encodings: readonly RecordEncoding[],
    options: AppendOptions | undefined,
  ): Promise<readonly LogRecord[]> {
    let prepared = records;
    for (const encoding of encodings) prepared = await encoding.prepare(prepared, options);
    return prepared;
  }

  override async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const stored = await this.inner.read(requests, options);
    // What no request wants needs no key and no blob.
    let results: readonly ReadResult[] = stored.map((result, index) => {
      const { wanted } = requests[index]!;
      return wanted ? { ...result, records: result.records.filter(({ offset }) => wanted.has(offset)) } : result;
    });
    const first = this.#turn++;
    for (const encoding of this.#encodings.toReversed()) {
      results = await encoding.decode(results, first, options?.maxBytes);
    }
    return results;
  }
}

/** The results with the records that fit, which are asked for from the `first` result on. */
export function inTurns(
  results: readonly ReadResult[],
  first: number,
  fitting: (records: readonly StoredRecord[]) => readonly StoredRecord[],
): readonly ReadResult[] {
  const fits = [...results];
  for (let index = 0; index < results.length; index++) {
    const at = (first + index) % results.length;
    fits[at] = { ...results[at]!, records: fitting(results[at]!.records) };
  }
  return fits;
}
