/**
 * Owns making a segment: an archived stretch of a partition's records as a Parquet file that can be queried without code of ours, and
 * restores every record byte for byte. Must not do I/O.
 *
 * S1 The same input gives the same bytes, with the same release of Node (of its zstd); the file has no time and no randomness.
 * S2 A record becomes columns only where they were verified to restore its bytes; otherwise its header is stored verbatim.
 */

import { promisify } from 'node:util';
import { type ZstdOptions, zstdCompress, zstdCompressSync } from 'node:zlib';
import { InvalidError, LimitError, PARTITION_MAX, type Partition, type Position, type Sha256 } from '@tidemark/core';
import type { StoredRecord } from '@tidemark/ports';
import { chainOver, checkChain } from './chain.ts';
import { Layouts } from './header.ts';
import { SEGMENT_RAW_MAX_BYTES, SEGMENT_RECORDS_MAX } from './limits.ts';
import { RecordColumns } from './record-columns.ts';
import { type Columns, emptyColumns, payloadEffort, payloadPage, RowGroupWriter } from './row-group-writer.ts';
import { SEGMENT_VERSION, textKeys } from './schema.ts';
import { NO_DIGEST, seal } from './seal.ts';

/** A row group ends with the record that takes it above this many bytes, or after this many records: writing one blocks the thread. */
const ROW_GROUP_TARGET_BYTES = 4 * 1024 * 1024;
export const ROW_GROUP_RECORDS_MAX = 8_192;

/** A record with the fold's verdict: a position when it was accepted, otherwise a reason; neither: a newer release's event. */
export interface SegmentRecord extends StoredRecord {
  readonly position: Position | null;
  readonly rejected: string | null;
}

export interface SegmentInput {
  readonly partition: Partition;
  /** Consecutive, without gaps. */
  readonly records: readonly SegmentRecord[];
  /** The partition's chain before the first of them. */
  readonly chainBefore: Sha256;
}

export interface EncodedSegment {
  /** The file. */
  readonly bytes: Uint8Array;
  readonly chainAfter: Sha256;
}

/**
 * The file of the records. Throws `InvalidError` (`segment-invalid`: no records, a gap, an invalid position; `chain-invalid`) and
 * `LimitError` (`segment-too-large`). Blocks the thread: about 25 µs for a record of a kilobyte.
 */
export function encodeSegment(input: SegmentInput): EncodedSegment {
  const encoding = encodingOf(input);
  for (let packed: Buffer | undefined; ; ) {
    const { done, value } = encoding.next(packed);
    if (done) return value;
    packed = zstdCompressSync(value, payloadEffort(value));
  }
}

/**
 * The same file. Other threads compress the payloads, which is a third of the time, and the event loop runs other work after each row
 * group. Throws as `encodeSegment`.
 */
export async function encodeSegmentAside(input: SegmentInput): Promise<EncodedSegment> {
  const encoding = encodingOf(input);
  for (let packed: Buffer | undefined; ; ) {
    const { done, value } = encoding.next(packed);
    if (done) return value;
    packed = await compressAside(value, payloadEffort(value));
  }
}

const compressAside = promisify<Buffer, ZstdOptions, Buffer>(zstdCompress);

/** Yields the payloads of each row group, and receives them compressed. */
function* encodingOf(input: SegmentInput): Generator<Buffer, EncodedSegment, Buffer | undefined> {
  check(input);
  const { partition, records, chainBefore } = input;
  const writer = new RowGroupWriter();
  const layouts = new Layouts();
  let chainAfter = chainBefore;
  for (const group of rowGroupsOf(records)) {
    const columns = columnsOf(partition, group, layouts);
    const page = payloadPage(columns);
    writer.add(columns, { page, packed: (yield page)! });
    chainAfter = chainOver(chainAfter, group);
  }
  const from = records[0]!.offset;
  const bytes = writer.finish([
    { key: textKeys.version, value: String(SEGMENT_VERSION) },
    { key: textKeys.digest, value: NO_DIGEST },
    { key: textKeys.partition, value: String(partition) },
    { key: textKeys.from, value: String(from) },
    { key: textKeys.to, value: String(from + records.length) },
    { key: textKeys.chainBefore, value: chainBefore },
    { key: textKeys.chainAfter, value: chainAfter },
  ]);
  seal(bytes);
  return { bytes, chainAfter };
}

function* rowGroupsOf(records: readonly SegmentRecord[]): Generator<readonly SegmentRecord[]> {
  let from = 0;
  let groupBytes = 0;
  for (const [index, { value }] of records.entries()) {
    groupBytes += value.length;
    const to = index + 1;
    const isFull = groupBytes >= ROW_GROUP_TARGET_BYTES || to - from >= ROW_GROUP_RECORDS_MAX;
    if (!isFull && to < records.length) continue;
    yield records.slice(from, to);
    from = to;
    groupBytes = 0;
  }
}

function columnsOf(partition: Partition, records: readonly SegmentRecord[], layouts: Layouts): Columns {
  const columns = emptyColumns();
  const rows = new RecordColumns(columns, layouts);
  for (const { offset, value, position, rejected } of records) {
    columns.partition.push(partition);
    columns.log_offset.push(offset);
    columns.position.push(position);
    columns.rejected.push(rejected);
    rows.add(value);
  }
  return columns;
}

/** Throws as `encodeSegment`. */
function check({ partition, records, chainBefore }: SegmentInput): void {
  checkChain(chainBefore);
  if (!isCount(partition) || partition > PARTITION_MAX)
    throw invalid(`partition ${partition} is not a partition number`);
  if (records.length === 0) throw invalid('records: there are none');
  let rawBytes = 0;
  for (const [index, { offset, value, position, rejected }] of records.entries()) {
    const place = `records[${index}]`;
    if (!isCount(offset)) throw invalid(`${place}.offset: ${offset} is not an offset`);
    if (offset !== records[0]!.offset + index) {
      throw invalid(`${place}.offset: ${offset} does not follow ${records[index - 1]!.offset}`);
    }
    if (position !== null && !isCount(position)) throw invalid(`${place}.position: ${position} is not a position`);
    if (rejected !== null && !rejected.isWellFormed()) throw invalid(`${place}.rejected: holds half a surrogate pair`);
    if (position !== null && rejected !== null) throw invalid(`${place}: is both accepted and rejected`);
    rawBytes += value.length;
  }
  if (rawBytes <= SEGMENT_RAW_MAX_BYTES && records.length <= SEGMENT_RECORDS_MAX) return;
  throw new LimitError(
    'segment-too-large',
    `${records.length} records of ${rawBytes} bytes are too much for a segment: at most ${SEGMENT_RECORDS_MAX} and ${SEGMENT_RAW_MAX_BYTES}. Make several.`,
    { records: records.length, rawBytes },
  );
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const invalid = (problem: string): InvalidError =>
  new InvalidError('segment-invalid', `No segment can be made: ${problem}.`, { problem });
