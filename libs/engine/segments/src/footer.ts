/** Owns finding and reading the footer of a segment's file. Must not know what the columns mean. */

import { type FileMetaData, parquetMetadata } from 'hyparquet';
import { sound } from './damage.ts';
import { structEnd } from './page-checks.ts';

/** Ours is about 4 KB for each row group. */
const FOOTER_MAX_BYTES = 1024 * 1024;

/** The first and the last four bytes of every Parquet file. */
const MAGIC = Buffer.from('PAR1');
/** Follows the footer: its length, and the magic. */
const TAIL_BYTES = 4 + MAGIC.length;

/** The footer of a file, without its length and the magic. Throws `CorruptError` (`segment-damaged`). */
export function footerOf(file: Buffer): { readonly at: number; readonly bytes: Buffer } {
  sound(file.length >= MAGIC.length + TAIL_BYTES, `${file.length} bytes are not a Parquet file`);
  const isParquet = file.subarray(0, MAGIC.length).equals(MAGIC) && file.subarray(-MAGIC.length).equals(MAGIC);
  sound(isParquet, 'it does not begin and end as a Parquet file does');
  const end = file.length - TAIL_BYTES;
  const length = file.readUInt32LE(end);
  sound(length <= end - MAGIC.length, 'its footer is longer than the file');
  return { at: end - length, bytes: file.subarray(end - length, end) };
}

/** Throws `CorruptError` (`segment-damaged`), and any other error for bytes that are no footer. */
export function readFooter(file: Buffer): FileMetaData {
  const { at, bytes } = footerOf(file);
  sound(bytes.length <= FOOTER_MAX_BYTES, `its footer has ${bytes.length} bytes`);
  sound(structEnd(bytes, 0) === bytes.length, 'its footer is another one than it says');
  return parquetMetadata(file.subarray(at), { geoparquet: false });
}
