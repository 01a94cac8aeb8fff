/**
 * Owns the contract of the checkpoint log: an ordered, gapless, append-only sequence of records in each of a growing number of partitions.
 * Knows bytes and offsets only; codec and core own their meaning.
 *
 * L1 Offsets of a partition are 0, 1, 2 … without gaps; a record never changes and never moves.
 * L2 `append` resolves only when the records survive the death of every process of ours.
 * L3 Appends of one process to one partition are stored in the order of the calls.
 * L4 The log may hold a second copy of appended records (an ambiguous request was sent again); never a partial or reordered one. The fold
 * rejects the copy.
 */

import type { Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';

/** The owner of a record, whose key seals it where history is encrypted. */
export interface RecordOwner {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  readonly user: string | null;
}

/** One record to append. `type` and `trace` become headers for people and tools; only `value` is folded. */
export interface LogRecord {
  readonly value: Uint8Array;
  readonly type: string;
  /** W3C `traceparent` of the writer's span, when telemetry is on. */
  readonly trace?: string;
  /**
   * The value compresses well (texts, or records of a model call), and its caller waits long anyway, for a model or a person. A hint; reads
   * return the appended bytes.
   */
  readonly packsWell?: true;
  /** Absent: the record has no owner, and no payload. */
  readonly owner?: RecordOwner;
}

export interface StoredRecord {
  readonly offset: Offset;
  readonly value: Uint8Array;
  /** The record was sealed in the log; a view opened it. */
  readonly isOpened?: true;
  /** The record names a key of its own workflow that was destroyed. Its payload is empty, and nothing proves who wrote it. */
  readonly isForgotten?: true;
  /** Why the record can never be read, as a code; its value is then as stored. */
  readonly problem?: string;
}

export interface ReadRequest {
  readonly partition: Partition;
  /** First offset to read. */
  readonly from: Offset;
  /** Reads up to this offset, exclusive; absent: as far as `maxBytes` allows. */
  readonly to?: Offset | undefined;
  /** Only these offsets: views open and fetch no others, and omit them. Absent: all. */
  readonly wanted?: ReadonlySet<Offset> | undefined;
}

export interface ReadResult {
  readonly partition: Partition;
  /** In offset order, starting at the first requested one; empty when nothing is there yet, or nothing was requested. */
  readonly records: readonly StoredRecord[];
  /** First offset not yet written, as known by this read; there is more to read when it is past the last record. */
  readonly end: Offset;
}

export interface PartitionBounds {
  /** First offset that the log still has; those before it were trimmed. */
  readonly start: Offset;
  /** First offset not yet written. */
  readonly end: Offset;
}

export interface AppendOptions {
  /** Abandons the append. It is then ambiguous: the caller must not assume that it failed. */
  readonly signal?: AbortSignal;
}

export interface EventLog {
  /** `power`: survives power loss of this machine; `process`: survives the death of every process. */
  readonly durability: 'power' | 'process';
  /** Largest value of one record, in bytes. */
  readonly recordMaxBytes: number;
  /**
   * Set by a log that stores large payloads elsewhere: the most that the records of one append may take without those, in bytes. Absent:
   * the log stores everything itself, and one append may hold as much as one record.
   */
  readonly inlineMaxBytes?: number | undefined;
  /** It seals payloads when it appends. */
  readonly isSealing?: boolean;

  /** Number of partitions. */
  partitionCount(): Promise<number>;
  /** Grows to at least `count` partitions; never shrinks. Harmless when repeated or concurrent. Returns the resulting count. */
  growTo(count: number): Promise<number>;

  /**
   * Appends records to one partition, consecutively, in one atomic step; returns the offset of the first. An ambiguous request is sent
   * again with the same bytes until the records are known to be stored; until then nothing else is appended to the partition. Throws
   * `LimitError` (a value is too large; nothing was appended), and `UnavailableError` only when it is closed or aborted before that.
   */
  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset>;

  /**
   * Reads several partitions, each from its offset; returns one result per request, in request order. Returns at most `maxBytes` in total,
   * but at least one record of each partition that has one (from segments, and from batches that unpack to far more than `maxBytes`: of
   * the first such partition). Does not wait for new records.
   * Throws `CorruptError` with code `log-trimmed` when an offset is before the log's start (details: partition, from, start), and
   * `log-past-end` when it is past the end (the log was replaced).
   */
  read(requests: readonly ReadRequest[], options?: { readonly maxBytes?: number }): Promise<readonly ReadResult[]>;

  /** Start and end of the given partitions, or of all. */
  bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>>;

  /** Removes every record before the offset. Harmless when repeated. Never past `end`. */
  trim(partition: Partition, before: Offset): Promise<void>;

  /** Bytes stored, by partition where the adapter knows. */
  sizeBytes(): Promise<number>;

  close(): Promise<void>;
}
