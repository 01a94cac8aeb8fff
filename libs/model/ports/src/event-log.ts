/**
 * Owns the contract of the checkpoint log: an ordered, gapless, append-only sequence of records in each of a growing
 * number of partitions. Knows bytes and offsets only; what the bytes mean is codec's and core's business.
 *
 * L1 Offsets of a partition are 0, 1, 2 … without gaps; a record never changes and never moves.
 * L2 `append` resolves only when the records survive the death of every process of ours.
 * L3 Appends to one partition by one process land in the order in which they were called.
 * L4 The log may hold a second copy of appended records (an ambiguous request was sent again); never a partial or
 *    reordered one. The fold rejects the copy.
 */

import type { Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';

/** Whose record it is: by whose key it is sealed, where history is encrypted. */
export interface RecordOwner {
  readonly tenant: TenantId;
  readonly workflow: WorkflowId;
  readonly user: string | null;
}

/** One record to append. `type` and `trace` travel as headers for people and tools; only `value` is folded. */
export interface LogRecord {
  readonly value: Uint8Array;
  readonly type: string;
  /** W3C `traceparent` of the writer's span, where telemetry is on. */
  readonly trace?: string;
  /**
   * Texts, or records of a model's call: worth packing, and whoever waits for it has waited for a model, or for a person who
   * types. A hint; what is read is what was appended, byte for byte.
   */
  readonly packsWell?: true;
  /** Absent: nobody's in particular, and it holds no payload. */
  readonly owner?: RecordOwner;
}

export interface StoredRecord {
  readonly offset: Offset;
  readonly value: Uint8Array;
  /** It was sealed below, and was opened on its way up. */
  readonly isOpened?: true;
  /** It names a key of its own workflow that was destroyed, and has an empty payload now: nothing says who wrote it. */
  readonly isForgotten?: true;
  /** Why it can never be read, as a code: its value is as it is stored then. */
  readonly problem?: string;
}

export interface ReadRequest {
  readonly partition: Partition;
  /** First offset wanted. */
  readonly from: Offset;
  /** Reads no further than this one, which is not wanted; absent: as far as `maxBytes` lets it. */
  readonly to?: Offset | undefined;
  /** Those that are wanted; views open and fetch no others, and leave them out. Absent: all. */
  readonly wanted?: ReadonlySet<Offset> | undefined;
}

export interface ReadResult {
  readonly partition: Partition;
  /** In offset order, starting at the first one wanted; empty when nothing is there yet, or nothing was wanted. */
  readonly records: readonly StoredRecord[];
  /** First offset not yet written, as known by this read; more is waiting when it is past the last record. */
  readonly end: Offset;
}

export interface PartitionBounds {
  /** First offset still held; those before it were trimmed. */
  readonly start: Offset;
  /** First offset not yet written. */
  readonly end: Offset;
}

export interface AppendOptions {
  /** Gives the append up; it then is ambiguous to its caller, who must not assume that it failed. */
  readonly signal?: AbortSignal;
}

export interface EventLog {
  /** `power`: survives power loss of this machine; `process`: survives the death of every process. */
  readonly durability: 'power' | 'process';
  /** Largest value of one record, in bytes. */
  readonly recordMaxBytes: number;
  /**
   * Of a log that keeps large payloads elsewhere: what the records of one append may come to without those, in bytes. Absent: it keeps
   * none, and what may be in one record may be in one append.
   */
  readonly inlineMaxBytes?: number | undefined;
  /** It seals payloads on their way down. */
  readonly isSealing?: boolean;

  /** Number of partitions. */
  partitionCount(): Promise<number>;
  /** Grows to at least `count` partitions; never shrinks. Harmless when repeated or concurrent. Returns the count now. */
  growTo(count: number): Promise<number>;

  /**
   * Appends records to one partition, next to each other, in one atomic step; returns the offset of the first.
   * Retries what is ambiguous with the same bytes until it is known to be stored; while that lasts nothing else goes
   * to that partition. Throws `LimitError` (a value is too large; nothing was appended), `UnavailableError` only when
   * closed or aborted before it is known to be stored.
   */
  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset>;

  /**
   * Reads several partitions, each from its offset; returns one result per request, in request order. Bounded by
   * `maxBytes` in total (at least one record for each partition that has one; of those that are read from segments, for the
   * first at least) and does not wait for records to come. Throws `CorruptError` with code `log-trimmed` when an offset
   * lies before the log's start (details: partition, from, start), and `log-past-end` when it lies past the end (the log was replaced).
   */
  read(requests: readonly ReadRequest[], options?: { readonly maxBytes?: number }): Promise<readonly ReadResult[]>;

  /** Start and end of the given partitions, or of all. */
  bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>>;

  /** Removes every record before the offset. Harmless when repeated. Never past `end`. */
  trim(partition: Partition, before: Offset): Promise<void>;

  /** Bytes held, by partition where the adapter can tell. */
  sizeBytes(): Promise<number>;

  close(): Promise<void>;
}
