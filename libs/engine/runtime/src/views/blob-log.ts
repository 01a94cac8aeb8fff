/**
 * Owns the encoding of a log's records with large payloads in blobs. A record that is too large for the log is appended with a reference
 * to the blob that has its payload, and is read back byte for byte. The log, segments and archives see only references. It knows nothing of
 * the payloads, and removes no blobs.
 *
 * B1 A reference goes to the log only after its blob is stored.
 * B2 A blob lies with those of the workflow that the record's header names, and is read from there alone: no record can name another
 *    workflow's. What one workflow hands to another (an output, a signal, a belief) is a record of the other, with a blob of its own.
 */

import {
  BLOB_HEADER_MAX_BYTES,
  type RecordBlob,
  readingNow,
  recordBlob,
  referringRecord,
  type SplitRecord,
  splitRecord,
  withPayload,
} from '@tidemark/codec';
import { CorruptError, LimitError } from '@tidemark/core';
import {
  type AppendOptions,
  BLOB_REFERENCE_MAX_BYTES,
  type BlobReference,
  type Clock,
  type LogRecord,
  type ReadResult,
  type StoredRecord,
} from '@tidemark/ports';
import { whileUnavailable } from '../kernel/index.ts';
import type { Blobs } from './blobs.ts';
import { inTurns, type LogLimits, type RecordEncoding } from './encoded-log.ts';
import { EVENT_MAX_BYTES } from './limits.ts';

/** Largest event where payloads may be in blobs, in bytes, header and payload together; larger ones are refused. */
export const BLOB_EVENT_MAX_BYTES = 64 * 1024 * 1024;
/** Default bytes of blobs that one read of the log returns; it always returns the first one. */
const BLOB_READ_MAX_BYTES = 64 * 1024 * 1024;

export interface BlobEncodingOptions {
  readonly blobs: Blobs;
  readonly clock: Clock;
  /** Largest size of one append's records in the log, in bytes; the log's own limit applies where it is lower. */
  readonly inlineMaxBytes?: number | undefined;
}

export class BlobEncoding implements RecordEncoding {
  /** Largest size of one append's records in the form below, in bytes. */
  #maxBytes: number;
  readonly #blobs: Blobs;
  readonly #clock: Clock;

  constructor({ blobs, clock, inlineMaxBytes = EVENT_MAX_BYTES }: BlobEncodingOptions) {
    this.#blobs = blobs;
    this.#clock = clock;
    this.#maxBytes = inlineMaxBytes;
  }

  over(below: LogLimits): LogLimits {
    this.#maxBytes = Math.min(this.#maxBytes, below.recordMaxBytes);
    const inlineMaxBytes = this.#maxBytes - BLOB_HEADER_MAX_BYTES;
    return { recordMaxBytes: BLOB_EVENT_MAX_BYTES, inlineMaxBytes, isSealing: below.isSealing };
  }

  atOnce(records: readonly LogRecord[]): readonly LogRecord[] | undefined {
    return bytesOf(records) <= this.#maxBytes ? records : undefined;
  }

  /** Waits while the blob store is unavailable, as an append waits for the log. */
  async prepare(records: readonly LogRecord[], options: AppendOptions | undefined): Promise<readonly LogRecord[]> {
    const tooLarge = records.find(({ value }) => value.length > BLOB_EVENT_MAX_BYTES);
    if (tooLarge !== undefined) throw recordTooLarge(tooLarge.value.length, BLOB_EVENT_MAX_BYTES);
    const moved = this.#moved(records);
    const references = await this.#put([...moved.values()], options);
    const short = new Map(
      [...moved].map(([record, { header }], at) => [
        record,
        { ...record, value: referringRecord(header, references[at]!) },
      ]),
    );
    return records.map((record) => short.get(record) ?? record);
  }

  #put(moved: readonly SplitRecord[], options: AppendOptions | undefined): Promise<readonly BlobReference[]> {
    const { closing } = this.#blobs;
    const until = options?.signal === undefined ? closing : AbortSignal.any([closing, options.signal]);
    const attempt = () => Promise.all(moved.map(({ workflow, payload }) => this.#blobs.put(workflow, payload)));
    return whileUnavailable(this.#clock, until, attempt);
  }

  /** Moves the largest payloads until the rest fits. */
  #moved(records: readonly LogRecord[]): ReadonlyMap<LogRecord, SplitRecord> {
    const moved = new Map<LogRecord, SplitRecord>();
    let overBytes = bytesOf(records) - this.#maxBytes;
    for (const record of records.toSorted((a, b) => b.value.length - a.value.length)) {
      if (overBytes <= 0) break;
      const split = splitRecord(record.value);
      const wonBytes = (split?.payload.length ?? 0) - BLOB_REFERENCE_MAX_BYTES - BLOB_HEADER_MAX_BYTES;
      if (split === undefined || wonBytes <= 0) continue;
      moved.set(record, split);
      overBytes -= wonBytes;
    }
    return moved;
  }

  /**
   * Payloads in blobs count towards `maxBytes` too: a partition whose next record no longer fits gets no records, unless none would get
   * any.
   */
  async decode(
    results: readonly ReadResult[],
    first: number,
    maxBytes = BLOB_READ_MAX_BYTES,
  ): Promise<readonly ReadResult[]> {
    const blobs = new Map<StoredRecord, RecordBlob>();
    for (const record of results.flatMap(({ records }) => records)) {
      const blob = recordBlob(record.value);
      if (blob !== undefined) blobs.set(record, blob);
    }
    if (blobs.size === 0) return results;
    const fitting = inTurns(results, first, fittingBlobs(blobs, maxBytes));
    for (const record of fitting.flatMap(({ records }) => records)) readingNow()?.pass(blobs.get(record)?.bytes ?? 0);
    return Promise.all(fitting.map((result) => this.#wholeResult(result, blobs)));
  }

  async #wholeResult(result: ReadResult, blobs: ReadonlyMap<StoredRecord, RecordBlob>): Promise<ReadResult> {
    const records = result.records.map(async (record) => {
      const blob = blobs.get(record);
      if (blob === undefined) return record;
      return this.#whole(record, blob);
    });
    return { ...result, records: await Promise.all(records) };
  }

  /** A record whose blob is lost or damaged is returned as it is stored, so that the fold stops its stream and no other. */
  async #whole(record: StoredRecord, blob: RecordBlob): Promise<StoredRecord> {
    try {
      return { offset: record.offset, value: withPayload(record.value, await this.#blobs.get(blob.workflow, blob)) };
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      return { ...record, problem: error.code };
    }
  }
}

/** The records up to the first whose blob no longer fits. The first blob of all always does. */
function fittingBlobs(blobs: ReadonlyMap<StoredRecord, RecordBlob>, maxBytes: number) {
  let leftBytes = maxBytes;
  let isAny = false;
  return (records: readonly StoredRecord[]): readonly StoredRecord[] => {
    const end = records.findIndex((record) => {
      const bytes = blobs.get(record)?.bytes;
      if (bytes === undefined) return false;
      if (isAny && bytes > leftBytes) return true;
      isAny = true;
      leftBytes -= bytes;
      return false;
    });
    return end < 0 ? records : records.slice(0, end);
  };
}

const bytesOf = (records: readonly LogRecord[]): number => records.reduce((sum, { value }) => sum + value.length, 0);

const recordTooLarge = (valueBytes: number, recordMaxBytes: number): LimitError =>
  new LimitError('record-too-large', `A record of ${valueBytes} bytes is over the limit of ${recordMaxBytes}.`, {
    valueBytes,
    recordMaxBytes,
  });
