/**
 * Owns making a segment: an archived stretch of a partition's records as a Parquet file that needs nothing of ours to be queried, and
 * gives every record back byte for byte. Must not do I/O.
 *
 * S1 The same input gives the same bytes, by the same release of Node (of its zstd); no time and no randomness is in them.
 * S2 A record is columns only where they were found to give its bytes back; else its header is kept as it is.
 */

import { InvalidError, LimitError, type Partition, type Position, type Sha256 } from '@tidemark/core';
import type { StoredRecord } from '@tidemark/ports';
import { chainOver, checkChain } from './chain.ts';
import { type ColumnWriters, columnWriters } from './columns.ts';
import { Layouts } from './header.ts';
import { SEGMENT_RAW_MAX_BYTES, SEGMENT_RECORDS_MAX } from './limits.ts';
import { type Effort, packPages, packPagesAside, writeChunk } from './parquet/chunk-writer.ts';
import type { ColumnBody } from './parquet/column-writer.ts';
import { writeFooter } from './parquet/footer.ts';
import { MAGIC } from './parquet/format.ts';
import { RecordColumns } from './record-columns.ts';
import { CREATED_BY, effortOf, SEGMENT_VERSION, segmentColumns, textKeys } from './schema.ts';
import { NO_DIGEST, seal } from './seal.ts';

/** A record with what the fold said of it: a position where it was accepted, else a reason; neither: it is a newer release's. */
export interface SegmentRecord extends StoredRecord {
  readonly position: Position | null;
  readonly rejected: string | null;
}

export interface SegmentInput {
  readonly partition: Partition;
  /** One after the other, without gaps. */
  readonly records: readonly SegmentRecord[];
  /** The partition's chain before the first of them. */
  readonly chainBefore: Sha256;
}

export interface EncodedSegment {
  /** The file. */
  readonly bytes: Uint8Array;
  readonly chainAfter: Sha256;
}

const PARTITION_MAX = 2 ** 31 - 1;

/**
 * The file of the records. Throws `InvalidError` (`segment-invalid`: no records, a gap, a position that is none; `chain-invalid`) and
 * `LimitError` (`segment-too-large`). Holds the thread: about 25 µs for a record of a kilobyte.
 */
export function encodeSegment(input: SegmentInput): EncodedSegment {
  const draft = drafted(input);
  return assembled(
    draft,
    draft.columns.map(({ body, effort }) => packPages(body, effort)),
  );
}

/** The same file, compressed on other threads; holds this one for about half as long. Throws as `encodeSegment`. */
export async function encodeSegmentAside(input: SegmentInput): Promise<EncodedSegment> {
  const draft = drafted(input);
  return assembled(draft, await Promise.all(draft.columns.map(({ body, effort }) => packPagesAside(body, effort))));
}

/** A file whose pages aren't compressed yet. */
interface Draft {
  readonly input: SegmentInput;
  readonly chainAfter: Sha256;
  /** As `segmentColumns` has them. */
  readonly columns: readonly { readonly body: ColumnBody; readonly effort: Effort }[];
}

function drafted(input: SegmentInput): Draft {
  const { partition, records, chainBefore } = input;
  const writers = columnWriters(records.length, checked(input));
  addRows(writers, partition, records);
  const columns = segmentColumns.map(({ name }) => ({ body: writers[name].finish(), effort: effortOf(name) }));
  return { input, chainAfter: chainOver(chainBefore, records), columns };
}

/** `packed`: the pages of each column. */
function assembled({ input, chainAfter, columns }: Draft, packed: readonly (readonly Buffer[])[]): EncodedSegment {
  const { partition, records, chainBefore } = input;
  const chunks = columns.map(({ body }, index) => writeChunk(segmentColumns[index]!, body, packed[index]!));
  const from = records[0]!.offset;
  const footer = writeFooter({
    columns: segmentColumns,
    chunks,
    rowCount: records.length,
    texts: [
      [textKeys.version, String(SEGMENT_VERSION)],
      [textKeys.digest, NO_DIGEST],
      [textKeys.partition, String(partition)],
      [textKeys.from, String(from)],
      [textKeys.to, String(from + records.length)],
      [textKeys.chainBefore, chainBefore],
      [textKeys.chainAfter, chainAfter],
    ],
    createdBy: CREATED_BY,
  });
  const bytes = Buffer.concat([MAGIC, ...chunks.flatMap((chunk) => chunk.bytes), footer]);
  seal(bytes);
  return { bytes, chainAfter };
}

/** Throws, or returns the bytes of all records. */
function checked({ partition, records, chainBefore }: SegmentInput): number {
  checkChain(chainBefore);
  if (!isCount(partition) || partition > PARTITION_MAX) throw invalid(`partition ${partition} is none`);
  if (records.length === 0) throw invalid('records: there are none');
  let rawBytes = 0;
  for (const [index, { offset, value, position, rejected }] of records.entries()) {
    const place = `records[${index}]`;
    if (!isCount(offset)) throw invalid(`${place}.offset: ${offset} is no offset`);
    if (offset !== records[0]!.offset + index) {
      throw invalid(`${place}.offset: ${offset} does not follow ${records[index - 1]!.offset}`);
    }
    if (position !== null && !isCount(position)) throw invalid(`${place}.position: ${position} is no position`);
    if (rejected !== null && !rejected.isWellFormed()) throw invalid(`${place}.rejected: holds half a surrogate pair`);
    if (position !== null && rejected !== null) throw invalid(`${place}: is both accepted and rejected`);
    rawBytes += value.length;
  }
  if (rawBytes <= SEGMENT_RAW_MAX_BYTES && records.length <= SEGMENT_RECORDS_MAX) return rawBytes;
  throw new LimitError(
    'segment-too-large',
    `${records.length} records of ${rawBytes} bytes are too much for a segment: at most ${SEGMENT_RECORDS_MAX} and ${SEGMENT_RAW_MAX_BYTES}. Make several.`,
    { records: records.length, rawBytes },
  );
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const invalid = (problem: string): InvalidError =>
  new InvalidError('segment-invalid', `No segment can be made: ${problem}.`, { problem });

function addRows(writers: ColumnWriters, partition: Partition, records: readonly SegmentRecord[]): void {
  const columns = new RecordColumns(writers, new Layouts());
  for (const { offset, value, position, rejected } of records) {
    writers.partition.add(partition);
    writers.log_offset.add(offset);
    writers.position.add(position);
    writers.rejected.add(rejected === null ? null : Buffer.from(rejected).toString('latin1'));
    columns.add(value);
  }
}
