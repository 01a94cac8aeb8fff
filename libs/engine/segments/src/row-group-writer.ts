/**
 * Owns how the row groups of a segment are written as Parquet: encodings, compression, the schema. Must not know where values come from.
 * The same columns give the same bytes.
 */

import { constants, type ZstdOptions, zstdCompressSync } from 'node:zlib';
import type { SchemaElement } from 'hyparquet';
import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import { CHUNK_MIN_BYTES, ZSTD_WINDOW_LOG } from './limits.ts';
import { type ColumnName, CREATED_BY, type KindOf, type SegmentColumn, segmentColumns } from './schema.ts';

/** The least and the greatest value of a column are cut to this many bytes in the footer. */
const BOUND_MAX_BYTES = 64;

type Written<Kind> = Kind extends 'number' | 'double' ? number : Kind extends 'bytes' ? Uint8Array : string;

/** The values of a row group, one for each row; null: no value. */
export type Columns = { readonly [Name in ColumnName]: (Written<KindOf<Name>> | null)[] };

export const emptyColumns = (): Columns =>
  Object.fromEntries(segmentColumns.map(({ name }) => [name, []])) as unknown as Columns;

/** A row group's payloads as the file has them, each preceded by its length in four bytes. */
export function payloadPage({ payload }: Columns): Buffer {
  const page = Buffer.allocUnsafeSlow(payload.reduce((sum, value) => sum + (value === null ? 0 : 4 + value.length), 0));
  let at = 0;
  for (const value of payload) {
    if (value === null) continue;
    at = page.writeUInt32LE(value.length, at);
    page.set(value, at);
    at += value.length;
  }
  return page;
}

/** A page, and its compressed form. */
export interface PackedPage {
  readonly page: Buffer;
  readonly packed: Buffer;
}

export class RowGroupWriter {
  readonly #sink = new ByteWriter();
  readonly #file = new ParquetWriter({
    writer: this.#sink,
    schema: [{ name: 'schema', num_children: segmentColumns.length }, ...segmentColumns.map(schemaElement)],
    compressors: { ZSTD: (page) => this.#packed(page) },
    statisticsTruncateLength: BOUND_MAX_BYTES,
    createdBy: CREATED_BY,
  });
  #payload: PackedPage | undefined;

  /** `payload`: from `payloadPage`, compressed with `payloadEffort`. Blocks the thread. */
  add(columns: Columns, payload: PackedPage): void {
    this.#payload = payload;
    const columnData = segmentColumns.map((column) => sourceOf(column, columns[column.name]));
    this.#file.write({ columnData, rowGroupSize: columns.partition.length, pageSize: 0 });
  }

  /** Returns the file. `texts` go into the footer, by key. */
  finish(texts: readonly { readonly key: string; readonly value: string }[]): Buffer {
    this.#file.kvMetadata = [...texts];
    this.#file.finish();
    return Buffer.from(this.#sink.getBuffer());
  }

  #packed(page: Uint8Array): Buffer {
    if (this.#payload?.page.equals(page)) return this.#payload.packed;
    return zstdCompressSync(page, effort(page, LEVEL_1));
  }
}

function sourceOf({ name, kind }: SegmentColumn, values: Columns[ColumnName]): ColumnSource {
  const hasValues = values.some((value) => value !== null);
  return {
    name,
    data: values,
    encoding: hasValues ? encodings[kind] : 'PLAIN',
    // Starting a zstd frame takes 0.1 ms.
    codec: hasValues ? 'ZSTD' : 'UNCOMPRESSED',
    statistics: kind === 'number' || kind === 'name',
    offsetIndex: false,
  };
}

const encodings = {
  number: 'DELTA_BINARY_PACKED',
  double: 'PLAIN',
  name: 'RLE_DICTIONARY',
  text: 'PLAIN',
  bytes: 'PLAIN',
} as const;

const logicalTypes = {
  STRING: { converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  TIMESTAMP_MILLIS: {
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
} as const;

function schemaElement(column: SegmentColumn): SchemaElement {
  const { name, physical, isRequired } = column;
  const logical = 'logical' in column ? logicalTypes[column.logical] : {};
  return { name, type: physical, repetition_type: isRequired ? 'REQUIRED' : 'OPTIONAL', ...logical };
}

/**
 * Measured (docs/retention.md): ids and digests are half of what remains of a record, and no level compresses them; levels from 2 on find
 * matches of three and four of their digits, which cost more than they save. So the first level is best for all but payloads, and in
 * payloads a match has at least six bytes.
 */
export const payloadEffort = (page: Uint8Array): ZstdOptions =>
  effort(page, { [constants.ZSTD_c_compressionLevel]: 7, [constants.ZSTD_c_minMatch]: 6 });

const LEVEL_1 = { [constants.ZSTD_c_compressionLevel]: 1 };

const effort = ({ length }: Uint8Array, params: Readonly<Record<number, number>>): ZstdOptions => ({
  chunkSize: Math.max(CHUNK_MIN_BYTES, length >> 1),
  pledgedSrcSize: length,
  params: { ...params, [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG },
});
