/**
 * Owns one view of a log whose payloads are encrypted: what is appended is sealed with its workflow's key, what is read is opened, so
 * that whoever reads and writes through it knows nothing of keys. Below it, log, blobs, segments and whoever archives see sealed bytes
 * alone. Must not know how keys are kept.
 */

import { openRecord, SEALING_MAX_BYTES, sealedWith, sealRecord } from '@tidemark/codec';
import { CorruptError, type Offset, type Partition } from '@tidemark/core';
import type { EventLog, LogRecord, ReadRequest, ReadResult } from '@tidemark/ports';
import { type Prepared, PreparedLog } from './prepared-log.ts';
import type { WorkflowKeys } from './workflow-keys.ts';

const EMPTY = Buffer.from('\nnull');

/** Whether the record says anything beyond its header. */
const hasPayload = ({ value }: LogRecord): boolean => Buffer.compare(value.subarray(-EMPTY.length), EMPTY) !== 0;

export class SealedLog extends PreparedLog {
  readonly recordMaxBytes: number;
  readonly inlineMaxBytes: number | undefined;
  readonly #keys: WorkflowKeys;

  constructor(inner: EventLog, keys: WorkflowKeys) {
    super(inner);
    this.#keys = keys;
    this.recordMaxBytes = inner.recordMaxBytes - SEALING_MAX_BYTES;
    this.inlineMaxBytes = inner.inlineMaxBytes === undefined ? undefined : inner.inlineMaxBytes - SEALING_MAX_BYTES;
  }

  /** Undefined: a key is not at hand. */
  protected override atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined {
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

  protected override async prepare(records: readonly LogRecord[]): Promise<Prepared> {
    const sealed = records.map(async (record) => {
      const { owner } = record;
      if (owner === undefined || !hasPayload(record)) return record;
      return { ...record, value: sealRecord(record.value, await this.#keys.find(owner)) };
    });
    return { records: await Promise.all(sealed) };
  }

  override async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    const results = await this.inner.read(requests, options);
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
}

const sealedWrong = (partition: Partition, offset: Offset, cause: unknown): CorruptError =>
  new CorruptError(
    'sealed-wrong',
    `The record at offset ${offset} of partition ${partition} can't be opened with the key that it names: it was changed, or the key is another one. Nothing was taken from it.`,
    { partition, offset, cause },
  );
