/**
 * Owns one view of a log whose payloads are encrypted: what is appended is sealed with its workflow's key, what is read is opened, so
 * that whoever reads and writes through it knows nothing of keys. Below it, log, segments and whoever archives see sealed bytes alone.
 * Appends of one partition keep their order while keys are looked up (L3). Must not know how keys are kept.
 */

import { openRecord, SEALING_MAX_BYTES, sealedWith, sealRecord } from '@tidemark/codec';
import { CorruptError, type Offset, type Partition } from '@tidemark/core';
import type { AppendOptions, EventLog, LogRecord, PartitionBounds, ReadRequest, ReadResult } from '@tidemark/ports';
import type { WorkflowKeys } from './workflow-keys.ts';

const EMPTY = Buffer.from('\nnull');

/** Whether the record says anything beyond its header. */
const hasPayload = ({ value }: LogRecord): boolean => Buffer.compare(value.subarray(-EMPTY.length), EMPTY) !== 0;

export class SealedLog implements EventLog {
  readonly durability: EventLog['durability'];
  readonly recordMaxBytes: number;
  readonly #inner: EventLog;
  readonly #keys: WorkflowKeys;
  /** The last append of each partition that waits for a key. */
  readonly #waiting = new Map<Partition, Promise<unknown>>();

  constructor(inner: EventLog, keys: WorkflowKeys) {
    this.#inner = inner;
    this.#keys = keys;
    this.durability = inner.durability;
    this.recordMaxBytes = inner.recordMaxBytes - SEALING_MAX_BYTES;
  }

  partitionCount(): Promise<number> {
    return this.#inner.partitionCount();
  }

  growTo(count: number): Promise<number> {
    return this.#inner.growTo(count);
  }

  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    const before = this.#waiting.get(partition);
    const sealed = before === undefined ? this.#sealedAtOnce(records) : undefined;
    if (sealed !== undefined) return this.#inner.append(partition, sealed, options);
    const sealing = this.#sealed(records);
    // Handed on in the order of the calls; whose key can't be had fails alone.
    const handedOn = Promise.allSettled([before, sealing]).then(async () => {
      options?.signal?.throwIfAborted();
      return { appended: this.#inner.append(partition, await sealing, options) };
    });
    const turn = handedOn.catch(() => {});
    this.#waiting.set(partition, turn);
    void turn.then(() => {
      if (this.#waiting.get(partition) === turn) this.#waiting.delete(partition);
    });
    return handedOn.then(({ appended }) => appended);
  }

  /** Undefined: a key is not at hand. */
  #sealedAtOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined {
    const sealed: LogRecord[] = [];
    for (const record of records) {
      const { owner } = record;
      if (owner === undefined || !hasPayload(record)) {
        sealed.push(record);
        continue;
      }
      const key = this.#keys.peek(owner);
      if (key === undefined) return undefined;
      sealed.push({ ...record, value: sealRecord(record.value, key) });
    }
    return sealed;
  }

  async #sealed(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    return Promise.all(
      records.map(async (record) => {
        const { owner } = record;
        if (owner === undefined || !hasPayload(record)) return record;
        return { ...record, value: sealRecord(record.value, await this.#keys.find(owner)) };
      }),
    );
  }

  async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.#inner.read(requests, options);
    const missing = new Set<string>();
    let isSealed = false;
    for (const { records } of results) {
      for (const { value } of records) {
        const id = sealedWith(value);
        isSealed ||= id !== undefined;
        if (id !== undefined && this.#keys.peekOpening(id) === undefined) missing.add(id);
      }
    }
    if (!isSealed) return results;
    const found = await this.#keys.opening(missing);
    return results.map((result) => this.#opened(result, found));
  }

  #opened({ records, ...result }: ReadResult, found: ReadonlyMap<string, Uint8Array | null>): ReadResult {
    const opened = records.map(({ offset, value }) => {
      const id = sealedWith(value);
      if (id === undefined) return { offset, value };
      // At hand before is at hand still, unless it grew too old meanwhile.
      const key = found.get(id) ?? this.#keys.peekOpening(id) ?? null;
      try {
        return { offset, value: openRecord(value, key) };
      } catch (cause) {
        throw sealedWrong(result.partition, offset, cause);
      }
    });
    return { ...result, records: opened };
  }

  bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    return this.#inner.bounds(partitions);
  }

  trim(partition: Partition, before: Offset): Promise<void> {
    return this.#inner.trim(partition, before);
  }

  sizeBytes(): Promise<number> {
    return this.#inner.sizeBytes();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

const sealedWrong = (partition: Partition, offset: Offset, cause: unknown): CorruptError =>
  new CorruptError(
    'sealed-wrong',
    `The record at offset ${offset} of partition ${partition} can't be opened with the key that it names: it was changed, or the key is another one. Nothing was taken from it.`,
    { partition, offset, cause },
  );
