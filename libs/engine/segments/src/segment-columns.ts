/** Owns access to the columns of a segment's file, by their names, within what one file may unpack to. */

import { SEGMENT_RAW_MAX_BYTES, UNPACKED_EXTRA_BYTES_PER_RECORD } from './limits.ts';
import {
  type ChunkSource,
  type Names,
  readNames,
  readNumbers,
  readTexts,
  type Texts,
  type UnpackBudget,
} from './parquet/column-reader.ts';
import { type ChunkPlace, chunksOf } from './parquet/footer.ts';
import type { ThriftStruct } from './parquet/thrift.ts';
import { type ColumnName, segmentColumns } from './schema.ts';

/** Each column is read when it is asked for. All throw `CorruptError` (`segment-damaged`). */
export class SegmentColumns {
  readonly #file: Buffer;
  readonly #places: readonly ChunkPlace[];
  readonly #rowCount: number;
  readonly #budget: UnpackBudget;

  constructor(file: Buffer, footer: ThriftStruct, rowCount: number) {
    this.#file = file;
    this.#places = chunksOf(footer, segmentColumns, rowCount);
    this.#rowCount = rowCount;
    this.#budget = { leftBytes: SEGMENT_RAW_MAX_BYTES + UNPACKED_EXTRA_BYTES_PER_RECORD * rowCount };
  }

  numbers(name: ColumnName): Float64Array {
    return readNumbers(this.#source(name));
  }

  names(name: ColumnName): Names {
    return readNames(this.#source(name));
  }

  texts(name: ColumnName): Texts {
    return readTexts(this.#source(name));
  }

  #source(name: ColumnName): ChunkSource {
    const index = segmentColumns.findIndex((column) => column.name === name);
    const budget = this.#budget;
    const [column, place] = [segmentColumns[index]!, this.#places[index]!];
    return { file: this.#file, place, column, rowCount: this.#rowCount, budget };
  }
}
