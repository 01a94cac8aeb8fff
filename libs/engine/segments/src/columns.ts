/** Owns one writer for each column of a segment. */

import { type ColumnWriter, DoubleWriter, NameWriter, NumberWriter, TextWriter } from './parquet/column-writer.ts';
import type { Column, ColumnKind } from './parquet/format.ts';
import { segmentColumns } from './schema.ts';

type WriterOf<Kind extends ColumnKind> = Kind extends 'number'
  ? NumberWriter
  : Kind extends 'double'
    ? DoubleWriter
    : Kind extends 'name'
      ? NameWriter
      : TextWriter;

export type ColumnWriters = {
  readonly [C in (typeof segmentColumns)[number] as C['name']]: WriterOf<C['kind']>;
};

/** `rawBytes`: of all records; most of them are payload. */
export const columnWriters = (rowCount: number, rawBytes: number): ColumnWriters =>
  Object.fromEntries(
    segmentColumns.map((column) => [column.name, writerOf(column, rowCount, column.name === 'payload' ? rawBytes : 0)]),
  ) as unknown as ColumnWriters;

function writerOf(column: Column, rowCount: number, expectedBytes: number): ColumnWriter<never> {
  if (column.kind === 'number') return new NumberWriter(column, rowCount);
  if (column.kind === 'double') return new DoubleWriter(column, rowCount);
  if (column.kind === 'name') return new NameWriter(column, rowCount);
  return new TextWriter(column, rowCount, expectedBytes);
}
