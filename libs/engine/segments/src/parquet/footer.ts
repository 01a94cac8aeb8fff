/**
 * Owns the footer of a file: the schema, where each column's chunk is, and texts by their keys. One row group, all of whose columns are
 * in the order of the schema. Must not know what the columns mean.
 */

import { sound } from '../damage.ts';
import { FOOTER_MAX_BYTES } from '../limits.ts';
import type { Chunk } from './chunk-writer.ts';
import { type Column, MAGIC, physicalTypes } from './format.ts';
import {
  binary,
  bytesIn,
  countIn,
  flag,
  i32,
  i64,
  list,
  readStruct,
  struct,
  structIn,
  structsIn,
  type Thrift,
  type ThriftStruct,
} from './thrift.ts';

const FORMAT_VERSION = 2;
const REQUIRED = 0;
const OPTIONAL = 1;
const UTF8 = 0;
const TIMESTAMP_MILLIS = 9;

export interface FooterInput {
  readonly columns: readonly Column[];
  readonly chunks: readonly Chunk[];
  readonly rowCount: number;
  readonly texts: readonly (readonly [key: string, value: string])[];
  readonly createdBy: string;
}

/** The bytes behind the last chunk; the first one begins behind the magic. */
export function writeFooter({ columns, chunks, rowCount, texts, createdBy }: FooterInput): Buffer {
  let at = MAGIC.length;
  const described = chunks.map((chunk) => {
    const description = chunk.describe(at);
    at += chunk.sizeBytes;
    return description;
  });
  const { bytes } = struct({
    1: i32(FORMAT_VERSION),
    2: list([struct({ 4: binary('schema'), 5: i32(columns.length) }), ...columns.map(schemaElement)]),
    3: i64(rowCount),
    4: list([
      struct({
        1: list(described),
        2: i64(chunks.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0)),
        3: i64(rowCount),
        5: i64(MAGIC.length),
        6: i64(at - MAGIC.length),
      }),
    ]),
    5: list(texts.map(([key, value]) => struct({ 1: binary(key), 2: binary(value) }))),
    6: binary(createdBy),
    // The order of bounds is that of the type; readers use them only where this is said.
    7: list(columns.map(() => struct({ 1: struct({}) }))),
  });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([bytes, length, MAGIC]);
}

function schemaElement({ name, physical, logical, isRequired }: Column): Thrift {
  const isText = logical === 'STRING';
  const logicalType = isText
    ? struct({ 1: struct({}) })
    : struct({ 8: struct({ 1: flag(true), 2: struct({ 1: struct({}) }) }) });
  return struct({
    1: i32(physicalTypes[physical]),
    3: i32(isRequired ? REQUIRED : OPTIONAL),
    4: binary(name),
    6: logical && i32(isText ? UTF8 : TIMESTAMP_MILLIS),
    10: logical && logicalType,
  });
}

/** Where the footer of a file is, without its length and the magic. Throws `CorruptError` (`segment-damaged`). */
export function footerOf(file: Buffer): { readonly at: number; readonly bytes: Buffer } {
  const tail = MAGIC.length + 4;
  sound(file.length >= MAGIC.length + tail, `${file.length} bytes are no Parquet file`);
  const isParquet = file.subarray(0, 4).equals(MAGIC) && file.subarray(-4).equals(MAGIC);
  sound(isParquet, 'it does not begin and end as a Parquet file does');
  const end = file.length - tail;
  const length = file.readUInt32LE(end);
  sound(length <= end - MAGIC.length, 'its footer is longer than the file');
  return { at: end - length, bytes: file.subarray(end - length, end) };
}

/** What the footer says of a column's chunk. */
export interface ChunkPlace {
  readonly at: number;
  readonly sizeBytes: number;
  readonly codec: number;
}

/** Throws `CorruptError` (`segment-damaged`). */
export function readFooter(bytes: Buffer): ThriftStruct {
  sound(bytes.length <= FOOTER_MAX_BYTES, `its footer has ${bytes.length} bytes`);
  return readStruct(bytes, 0).members;
}

/** The texts of the footer, as the bytes that they are in it. Throws `CorruptError` (`segment-damaged`). */
export function textsOf(footer: ThriftStruct): ReadonlyMap<string, Buffer> {
  const pairs = structsIn(footer, 5, 'its list of texts');
  return new Map(pairs.map((pair) => [bytesIn(pair, 1, 'a key').toString('latin1'), bytesIn(pair, 2, 'a text')]));
}

/** Where the chunks are, in the order of the columns. Throws `CorruptError` (`segment-damaged`) when they are other columns. */
export function chunksOf(footer: ThriftStruct, columns: readonly Column[], rowCount: number): readonly ChunkPlace[] {
  const groups = structsIn(footer, 4, 'its list of row groups');
  sound(groups.length === 1 && countIn(footer, 3, 'its number of rows') === rowCount, 'it has other rows than it says');
  const chunks = structsIn(groups[0]!, 1, 'its list of columns');
  sound(chunks.length === columns.length, 'it has other columns');
  return columns.map(({ name, physical }, index) => {
    const about = structIn(chunks[index]!, 3, `column ${name}`);
    const path = about.get(3);
    const isIt = Array.isArray(path) && path.length === 1 && Buffer.from(name).equals(path[0] as Buffer);
    sound(isIt && countIn(about, 1, name) === physicalTypes[physical], `column ${name} is another one`);
    sound(countIn(about, 5, name) === rowCount, `column ${name} has other rows`);
    const at = countIn(about, about.has(11) ? 11 : 9, name);
    return { at, sizeBytes: countIn(about, 7, name), codec: countIn(about, 4, name) };
  });
}
