/**
 * Owns reading a segment back: every record's bytes, as they were in the log. What the file says of itself is believed only as far as
 * digest, chain and limits bear it out. Must not do I/O.
 *
 * S3 A file of which one byte is changed or missing is `segment-damaged`; nothing else is thrown, whatever the bytes are.
 */

import { CorruptError, type Offset, type Partition, type Position, type Sha256 } from '@tidemark/core';
import { chainOver } from './chain.ts';
import { damaged, sound } from './damage.ts';
import type { SegmentRecord } from './encode-segment.ts';
import { FOOTER_MAX_BYTES, SEGMENT_RECORDS_MAX } from './limits.ts';
import { footerOf, readFooter, textsOf } from './parquet/footer.ts';
import type { ThriftStruct } from './parquet/thrift.ts';
import { recordValues } from './record-values.ts';
import { CREATED_BY, SEGMENT_VERSION, textKeys } from './schema.ts';
import { checkSeal } from './seal.ts';
import { SegmentColumns } from './segment-columns.ts';

export interface DecodedSegment {
  readonly partition: Partition;
  /** The stretch `[from, to)` of the partition's offsets. */
  readonly from: Offset;
  readonly to: Offset;
  readonly chainBefore: Sha256;
  readonly chainAfter: Sha256;
  /** Their bytes are views of buffers of about a megabyte, which live as long as one of them is held. */
  readonly records: readonly SegmentRecord[];
}

/**
 * Throws `CorruptError`: `segment-damaged`, `segment-foreign` (a Parquet file that is no segment), `segment-newer` (of a format that
 * this release doesn't know).
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
  const columns = new SegmentColumns(file, footer, count);
  const offsets = columns.numbers('log_offset');
  const partitions = columns.numbers('partition');
  const positions = columns.numbers('position');
  const rejected = columns.names('rejected');
  const reasons = rejected.entries.map((entry) => Buffer.from(entry, 'latin1').toString());
  const values = recordValues(columns, count);
  const records = values.map((value, index): SegmentRecord => {
    sound(partitions[index] === partition && offsets[index] === from + index, `row ${index} is in another place`);
    const position = positions[index]!;
    const reason = rejected.indexes[index]!;
    return {
      offset: (from + index) as Offset,
      value,
      position: Number.isNaN(position) ? null : (position as Position),
      rejected: reason < 0 ? null : reasons[reason]!,
    };
  });
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

type Texts = ReadonlyMap<string, Buffer>;

/** The footer of a whole file of this version. */
function opened(file: Buffer): { readonly footer: ThriftStruct; readonly texts: Texts } {
  const { bytes } = footerOf(file);
  const isOurs = isMarked(bytes);
  // The footers of others may be of any size.
  if (!isOurs && bytes.length > FOOTER_MAX_BYTES) throw foreign();
  const footer = readFooter(bytes);
  if (!isOurs) throw isFooter(footer) ? foreign() : damaged('its footer is none');
  const texts = textsOf(footer);
  checkSeal(file, texts);
  const version = countOf(texts, textKeys.version);
  if (version > SEGMENT_VERSION) throw newer(version);
  sound(version === SEGMENT_VERSION, `its version is ${version}`);
  return { footer, texts };
}

/** Any of what makes a footer ours: one changed byte does not make a segment foreign. */
const isMarked = (footer: Buffer): boolean =>
  [CREATED_BY, ...Object.values(textKeys)].some((mark) => footer.includes(mark));

/** Whether it is any Parquet file's: with a schema and row groups. */
const isFooter = (footer: ThriftStruct): boolean => Array.isArray(footer.get(2)) && Array.isArray(footer.get(4));

function textOf(texts: Texts, key: string): string {
  const text = texts.get(key);
  sound(text !== undefined, `it has no ${key}`);
  return text.toString('latin1');
}

function countOf(texts: Texts, key: string): number {
  const text = textOf(texts, key);
  const count = Number(text);
  sound(/^\d{1,16}$/.test(text) && Number.isSafeInteger(count), `its ${key} is no count`);
  return count;
}

const foreign = (): CorruptError =>
  new CorruptError(
    'segment-foreign',
    'This is a Parquet file, and no segment of a Tidemark log: someone else put it there. Move it away.',
  );

const newer = (version: number): CorruptError =>
  new CorruptError(
    'segment-newer',
    `The segment has version ${version} of the format; this release reads ${SEGMENT_VERSION}. Use the release that wrote it, or a newer one.`,
    { version },
  );
