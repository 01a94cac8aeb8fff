/**
 * Owns reading a segment back: every record's bytes, as they were in the log. Claims of the file are checked against digest, chain and
 * limits. Must not do I/O.
 *
 * S3 A file with one byte changed or missing is `segment-damaged`; no bytes make it throw anything else.
 */

import { CorruptError, type Offset, type Partition, type Position } from '@tidemark/core';
import type { FileMetaData, RowGroup } from 'hyparquet';
import { chainOver } from './chain.ts';
import { damaged, sound } from './damage.ts';
import type { SegmentRecord } from './encode-segment.ts';
import { footerOf, readFooter } from './footer.ts';
import { SEGMENT_RAW_MAX_BYTES, SEGMENT_RECORDS_MAX } from './limits.ts';
import type { SegmentManifest } from './manifest.ts';
import { RecordValues } from './record-values.ts';
import { RowGroupReader } from './row-group-reader.ts';
import { CREATED_BY, SEGMENT_VERSION, textKeys } from './schema.ts';
import { checkSeal } from './seal.ts';

/** Bytes for each record to which columns may unpack besides the records' own bytes: lengths, levels and numbers. */
const UNPACKED_EXTRA_BYTES_PER_RECORD = 256;

export interface DecodedSegment
  extends Pick<SegmentManifest, 'partition' | 'from' | 'to' | 'chainBefore' | 'chainAfter'> {
  /** The records' bytes are views of buffers of about a megabyte, which live as long as any of them is referenced. */
  readonly records: readonly SegmentRecord[];
}

/**
 * Throws `CorruptError`: `segment-damaged`, `segment-foreign` (a Parquet file that is no segment), `segment-newer` (a format that this
 * release doesn't know).
 */
export function decodeSegment(bytes: Uint8Array): DecodedSegment {
  try {
    return decoded(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    if (error instanceof CorruptError) throw error;
    throw damaged('it can not be read', error);
  }
}

function decoded(file: Buffer): DecodedSegment {
  const { footer, texts } = opened(file);
  const partition = countOf(texts, textKeys.partition);
  const from = countOf(texts, textKeys.from);
  const to = countOf(texts, textKeys.to);
  const count = to - from;
  sound(count > 0 && count <= SEGMENT_RECORDS_MAX, `it has the records [${from}, ${to})`);
  const records = recordsOf(file, footer.row_groups, partition, from, count);
  const chainBefore = textOf(texts, textKeys.chainBefore);
  const chainAfter = textOf(texts, textKeys.chainAfter);
  sound(chainOver(chainBefore, records) === chainAfter, 'its records are not those of its chain');
  return {
    partition: partition as Partition,
    from: from as Offset,
    to: to as Offset,
    chainBefore,
    chainAfter,
    records,
  };
}

/** From all row groups, whose offsets are consecutive. */
function recordsOf(
  file: Buffer,
  groups: readonly RowGroup[],
  partition: number,
  from: number,
  count: number,
): readonly SegmentRecord[] {
  const budget = { leftBytes: SEGMENT_RAW_MAX_BYTES + UNPACKED_EXTRA_BYTES_PER_RECORD * count };
  const values = new RecordValues();
  const records: SegmentRecord[] = [];
  for (const group of groups) {
    const columns = new RowGroupReader(file, group, budget);
    sound(columns.rowCount > 0 && columns.rowCount <= count - records.length, 'it has other rows than it says');
    const offsets = columns.read('log_offset');
    const partitions = columns.read('partition');
    const positions = columns.read('position');
    const rejected = columns.read('rejected');
    for (const [row, value] of values.read(columns).entries()) {
      const offset = from + records.length;
      sound(partitions[row] === partition && offsets[row] === offset, `row ${records.length} is in another place`);
      const reason = rejected[row]!;
      records.push({
        offset: offset as Offset,
        value,
        position: positions[row] as Position | null,
        rejected: reason === null ? null : Buffer.from(reason, 'latin1').toString(),
      });
    }
  }
  sound(records.length === count, 'it has other rows than it says');
  return records;
}

type Texts = ReadonlyMap<string, string>;

/** The footer of a whole file in the version that this release reads. */
function opened(file: Buffer): { readonly footer: FileMetaData; readonly texts: Texts } {
  if (!isMarked(footerOf(file).bytes)) throw foreign();
  checkSeal(file);
  const footer = readFooter(file);
  const texts = new Map(footer.key_value_metadata?.map(({ key, value = '' }) => [key, value]));
  const version = countOf(texts, textKeys.version);
  if (version > SEGMENT_VERSION) throw newer(version);
  sound(version === SEGMENT_VERSION, `its version is ${version}`);
  return { footer, texts };
}

/** Any mark of our footers is enough, so one changed byte doesn't make a segment foreign. */
const isMarked = (footer: Buffer): boolean =>
  [CREATED_BY, ...Object.values(textKeys)].some((mark) => footer.includes(mark));

function textOf(texts: Texts, key: string): string {
  const text = texts.get(key);
  sound(text !== undefined, `it has no ${key}`);
  return text;
}

function countOf(texts: Texts, key: string): number {
  const text = textOf(texts, key);
  const count = Number(text);
  sound(/^\d{1,16}$/.test(text) && Number.isSafeInteger(count), `its ${key} is not a count`);
  return count;
}

const foreign = (): CorruptError =>
  new CorruptError(
    'segment-foreign',
    'This is a Parquet file, but not a segment of a Tidemark log: another program put it there. Move it elsewhere.',
  );

const newer = (version: number): CorruptError =>
  new CorruptError(
    'segment-newer',
    `The segment has version ${version} of the format; this release reads ${SEGMENT_VERSION}. Use the release that wrote it, or a newer one.`,
    { version },
  );
