/**
 * Owns the names of Parquet's numbers, and what a column is. Source:
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 */

/** The first and the last four bytes of every Parquet file. */
export const MAGIC = Buffer.from('PAR1');

export const physicalTypes = { INT32: 1, INT64: 2, DOUBLE: 5, BYTE_ARRAY: 6 } as const;
export const encodings = { PLAIN: 0, RLE: 3, DELTA_BINARY_PACKED: 5, RLE_DICTIONARY: 8 } as const;
export const codecs = { UNCOMPRESSED: 0, ZSTD: 6 } as const;
export const pageTypes = { DATA: 0, DICTIONARY: 2 } as const;

/**
 * How a column is written. `number`: whole ones, by their differences. `double`. `name`: texts that come again, by a dictionary.
 * `text` and `bytes`: one after the other.
 */
export type ColumnKind = 'number' | 'double' | 'name' | 'text' | 'bytes';

export interface Column<Name extends string = string> {
  readonly name: Name;
  readonly kind: ColumnKind;
  readonly physical: keyof typeof physicalTypes;
  readonly logical?: 'STRING' | 'TIMESTAMP_MILLIS';
  /** Whether every row has a value. */
  readonly isRequired: boolean;
}
