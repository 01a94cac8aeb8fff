/**
 * Owns the EventLog on one SQLite file: group commit, reads, bounds, trimming. Appends of one turn of the event loop share one transaction,
 * and their promises resolve after its commit (L2). The process is alone with the file, so it keeps in memory where partitions start and
 * end. Everything runs on the caller's thread: with a worker thread a single append takes longer than the commit itself
 * (docs/decisions/0003). Must not open or check files.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import {
  CorruptError,
  InvalidError,
  type Offset,
  type Partition,
  type TidemarkError,
  UnavailableError,
} from '@tidemark/core';
import type {
  AppendOptions,
  EventLog,
  LogRecord,
  PartitionBounds,
  ReadRequest,
  ReadResult,
  StoredRecord,
} from '@tidemark/ports';
import { CommitQueue, type Pending } from './commit-queue.ts';
import { BASE_REACH_RECORDS, type SqliteLogLimits } from './limits.ts';
import { type PackedValue, RecordPacker, RecordUnpacker } from './packed-records.ts';
import {
  addPartition,
  appendRecord,
  deleteRecords,
  neededBase,
  readPartitions,
  readRecords,
  setStart,
} from './sql/records.ts';
import { asLogError, damaged } from './sqlite-errors.ts';

export interface SqliteLogParts {
  readonly folder: string;
  readonly database: DatabaseSync;
  readonly durability: 'power' | 'process';
  readonly limits: SqliteLogLimits;
  /** Called once, after the database was closed. */
  readonly release: () => void;
}

interface Bounds {
  start: number;
  end: number;
}

type Row = [
  offset: number,
  crc: number,
  bytes: Uint8Array,
  packing: PackedValue['packing'],
  base: number | null,
  baseRecords: number,
];
type Kept = readonly [first: number, last: number];
const NONE_KEPT: Kept = [-1, -1];

/** The type of a packed record is for people alone, and as short as they can read it. */
const capitals = (type: string): string => type.replaceAll(/[^A-Z]/g, '') || type;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class SqliteLog implements EventLog {
  readonly durability: 'power' | 'process';
  readonly recordMaxBytes: number;
  readonly #parts: SqliteLogParts;
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #partitions: Bounds[];
  readonly #queue: CommitQueue;
  readonly #packer = new RecordPacker();
  readonly #unpacker = new RecordUnpacker((...base) => this.#readBase(...base));
  #isClosed = false;

  constructor(parts: SqliteLogParts) {
    const { database } = parts;
    this.#parts = parts;
    this.durability = parts.durability;
    this.recordMaxBytes = parts.limits.recordMaxBytes;
    this.#database = database;
    this.#insert = database.prepare(appendRecord);
    this.#select = database.prepare(readRecords);
    this.#select.setReturnArrays(true);
    this.#begin = database.prepare('begin immediate');
    this.#commit = database.prepare('commit');
    this.#partitions = loadPartitions(parts.folder, database);
    this.#queue = new CommitQueue(parts.limits, (appends) => this.#store(appends));
    this.#finishTrims();
  }

  async partitionCount(): Promise<number> {
    this.#checkOpen();
    return this.#partitions.length;
  }

  async growTo(count: number): Promise<number> {
    this.#checkOpen();
    const had = this.#partitions.length;
    if (count <= had) return had;
    this.#transaction(() => {
      const add = this.#database.prepare(addPartition);
      for (let partition = had; partition < count; partition++) add.run(partition);
    });
    for (let partition = had; partition < count; partition++) this.#partitions.push({ start: 0, end: 0 });
    return count;
  }

  append(partition: Partition, records: readonly LogRecord[], options?: AppendOptions): Promise<Offset> {
    return new Promise((resolve, reject) => {
      if (!this.#isClosed) this.#partition(partition);
      this.#queue.add({ partition, records, signal: options?.signal, resolve, reject, first: 0 });
    });
  }

  async read(
    requests: readonly ReadRequest[],
    options?: { readonly maxBytes?: number },
  ): Promise<readonly ReadResult[]> {
    this.#checkOpen();
    const budget = { leftBytes: options?.maxBytes ?? this.#parts.limits.readMaxBytes };
    const seen = new Set<number>();
    return requests.map(({ partition, from, to }) => {
      if (seen.has(partition)) {
        throw new InvalidError('read-repeated', `Partition ${partition} is named twice in one read.`, { partition });
      }
      seen.add(partition);
      const { start, end } = this.#partition(partition);
      const details = { partition, from, start, end };
      if (from < start) {
        throw new CorruptError(
          'log-trimmed',
          `Partition ${partition} starts at ${start}; ${from} was trimmed.`,
          details,
        );
      }
      if (from > end) {
        const message = `Partition ${partition} ends at ${end}, before ${from}: the log was replaced.`;
        throw new CorruptError('log-past-end', message, details);
      }
      const records = from >= Math.min(end, to ?? end) ? [] : this.#records(partition, from, budget, to);
      return { partition, records, end: end as Offset };
    });
  }

  async bounds(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, PartitionBounds>> {
    this.#checkOpen();
    const wanted = partitions ?? this.#partitions.keys();
    const bounds = new Map<Partition, PartitionBounds>();
    for (const partition of wanted) {
      const { start, end } = this.#partition(partition);
      bounds.set(partition as Partition, { start: start as Offset, end: end as Offset });
    }
    return bounds;
  }

  async trim(partition: Partition, before: Offset): Promise<void> {
    this.#checkOpen();
    const bounds = this.#partition(partition);
    if (before > bounds.end) {
      const details = { partition, before, end: bounds.end };
      const message = `Partition ${partition} ends at ${bounds.end}; it cannot be trimmed to ${before}.`;
      throw new InvalidError('trim-past-end', message, details);
    }
    if (before <= bounds.start) return;
    // Moves the start first: readers no longer see what lies before it, even if the process dies before deleting it.
    this.#transaction(() => this.#database.prepare(setStart).run(before, partition));
    bounds.start = before;
    this.#packer.forgetBefore(partition, before);
    const kept = this.#keptBase(partition, before);
    while (!this.#isClosed && this.#deleteSlice(partition, before, kept)) await nextTurn();
  }

  async sizeBytes(): Promise<number> {
    this.#checkOpen();
    const value = (name: string): number =>
      Number(Object.values(this.#database.prepare(`pragma ${name}`).get() ?? {})[0]);
    return (value('page_count') - value('freelist_count')) * value('page_size');
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#queue.close();
    this.#isClosed = true;
    try {
      this.#database.close();
    } finally {
      this.#parts.release();
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new UnavailableError('log-closed', 'The log is closed.');
  }

  #partition(partition: number): Bounds {
    const bounds = this.#partitions[partition];
    if (bounds !== undefined) return bounds;
    const partitionCount = this.#partitions.length;
    const message = `Partition ${partition} does not exist; the log has ${partitionCount}, counted from 0.`;
    throw new InvalidError('partition-unknown', message, { partition, partitionCount });
  }

  /** Runs one transaction. When it fails nothing of it is stored, and its offsets are given again. */
  #store(appends: readonly Pending[]): void {
    let done = 0;
    try {
      this.#transaction(() => {
        for (; done < appends.length; done++) this.#insertAll(appends[done]!);
      });
    } catch (error) {
      this.#packer.forgetAll();
      for (const append of appends.slice(0, done).reverse()) this.#partitions[append.partition]!.end = append.first;
      throw error;
    }
  }

  #insertAll(append: Pending): void {
    const bounds = this.#partitions[append.partition]!;
    let end = bounds.end;
    for (const record of append.records) {
      const { type, trace = null } = record;
      const { value, packing, base, baseRecords } = this.#packer.pack(append.partition, end, record);
      const crc = crc32(record.value);
      this.#insert.run(
        append.partition,
        end++,
        crc,
        packing === 0 ? type : capitals(type),
        trace,
        value,
        packing,
        base,
        baseRecords,
      );
    }
    append.first = bounds.end;
    bounds.end = end;
  }

  /** Does all of the work or nothing of it. Throws what the port promises. */
  #transaction(work: () => void): void {
    try {
      this.#begin.run();
      work();
      this.#commit.run();
    } catch (error) {
      // Some errors have already rolled back.
      if (this.#database.isTransaction) this.#database.exec('rollback');
      throw asLogError(this.#parts.folder, error);
    }
  }

  #records(
    partition: number,
    from: number,
    budget: { leftBytes: number },
    to = Number.POSITIVE_INFINITY,
  ): readonly StoredRecord[] {
    const records: StoredRecord[] = [];
    try {
      for (const row of this.#select.iterate(partition, from)) {
        if (from + records.length >= to) break;
        const value = this.#valueOf(partition, from + records.length, row as unknown as Row);
        if (records.length > 0 && value.byteLength > budget.leftBytes) break;
        const offset = from + records.length;
        budget.leftBytes -= value.byteLength;
        records.push({ offset: offset as Offset, value });
      }
    } catch (error) {
      throw asLogError(this.#parts.folder, error);
    }
    if (records.length === 0) throw this.#damagedAt(partition, from);
    return records;
  }

  /** Returns the unpacked value of the row that must be the one at this offset. */
  #valueOf(partition: number, offset: number, row: Row): Uint8Array {
    const [storedOffset, crc, bytes, packing, base, baseRecords] = row;
    if (storedOffset !== offset) throw this.#damagedAt(partition, offset);
    let value = bytes;
    if (packing !== 0) {
      try {
        value = this.#unpacker.unpack(partition, { value: bytes, packing, base, baseRecords });
      } catch (error) {
        throw error instanceof CorruptError ? this.#damagedAt(partition, offset, error) : error;
      }
    }
    if (crc32(value) !== crc) throw this.#damagedAt(partition, offset);
    return value;
  }

  #readBase(partition: number, base: number, baseRecords: number): readonly Uint8Array[] {
    const values: Uint8Array[] = [];
    // A statement of its own: the one that reads records may be in the middle of its rows.
    const select = this.#database.prepare(readRecords);
    select.setReturnArrays(true);
    for (const row of select.iterate(partition, base) as Iterable<unknown>) {
      if ((row as Row)[4] !== null) throw this.#damagedAt(partition, base + values.length);
      values.push(this.#valueOf(partition, base + values.length, row as Row));
      if (values.length === baseRecords) return values;
    }
    throw this.#damagedAt(partition, base + values.length);
  }

  #damagedAt(partition: number, offset: number, cause?: unknown): TidemarkError {
    return damaged(
      this.#parts.folder,
      `the record at offset ${offset} of partition ${partition} is missing or changed`,
      cause,
    );
  }

  /** First and last offset of the records before a partition's start that must stay, since later ones are packed with them. */
  #keptBase(partition: number, start: number): Kept {
    const select = this.#database.prepare(neededBase);
    const kept = select.get(partition, start, start + BASE_REACH_RECORDS, start);
    if (kept === undefined) return NONE_KEPT;
    const { base, records } = kept as { readonly base: number; readonly records: number };
    return [base, base + records - 1];
  }

  /** Returns whether there may be more. */
  #deleteSlice(partition: number, before: number, kept: Kept): boolean {
    const { trimSliceRecords } = this.#parts.limits;
    let deleted = 0;
    this.#transaction(() => {
      deleted = Number(this.#database.prepare(deleteRecords).run(partition, before, ...kept, trimSliceRecords).changes);
    });
    return deleted === trimSliceRecords;
  }

  /** Deletes what a dead process had trimmed and not yet deleted. */
  #finishTrims(): void {
    this.#partitions.forEach(({ start }, partition) => {
      if (start === 0) return;
      const kept = this.#keptBase(partition, start);
      while (this.#deleteSlice(partition, start, kept));
    });
  }
}

function loadPartitions(folder: string, database: DatabaseSync): Bounds[] {
  const rows = database.prepare(readPartitions).all() as { partition: number; start: number; end: number | null }[];
  return rows.map(({ partition, start, end }, index) => {
    if (partition !== index) throw damaged(folder, `partition ${index} is missing`);
    return { start, end: Math.max(start, end ?? 0) };
  });
}
