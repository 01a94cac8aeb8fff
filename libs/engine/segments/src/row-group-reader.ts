/**
 * Owns reading the columns of a row group as segments have them; other ways to write Parquet are not supported. Before a
 * page is unpacked or read, its claims are checked against what its bytes can hold, and against a budget for the whole file.
 */

import { constants, zstdDecompressSync } from 'node:zlib';
import type { CompressionCodec, DecodedArray, PageHeader, RowGroup } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { damaged, sound } from './damage.ts';
import { CHUNK_MIN_BYTES, ZSTD_WINDOW_LOG } from './limits.ts';
import { checkDeltas, checkRuns, structEnd } from './page-checks.ts';
import { type ColumnName, type KindOf, type SegmentColumn, segmentColumns } from './schema.ts';

/** Longest header of a page. Tidemark writes about 30 bytes. */
const PAGE_HEADER_MAX_BYTES = 1_024;
/** Bits of an index into a dictionary: a dictionary never has more entries than a segment has records. */
const INDEX_WIDTH_MAX = 20;

/** A block of zstd takes at least four bytes, and gives at most this many. */
const ZSTD_BLOCK_MIN_BYTES = 4;
const ZSTD_BLOCK_MAX_BYTES = 131_072;
/** Fewest bytes that a value of each type takes. */
const plainBytes = { INT32: 4, INT64: 8, DOUBLE: 8, BYTE_ARRAY: 4 } as const;

/** How many bytes may still be unpacked. All columns of one file share it. */
export interface UnpackBudget {
  leftBytes: number;
}

/** Names are Latin-1 strings of UTF-8 bytes, texts are views of the unpacked bytes. */
type Read<Kind> = Kind extends 'number' | 'double' ? number : Kind extends 'name' ? string : Uint8Array;
/** One for each row; null: no value. */
export type Cells<Name extends ColumnName> = readonly (Read<KindOf<Name>> | null)[];

/**
 * Reads a column when it is requested. Every method throws `CorruptError` (`segment-damaged`), and any other error for bytes that are no
 * column.
 */
export class RowGroupReader {
  readonly rowCount: number;
  readonly #file: Buffer;
  readonly #group: RowGroup;
  readonly #budget: UnpackBudget;

  constructor(file: Buffer, group: RowGroup, budget: UnpackBudget) {
    this.#file = file;
    this.#group = group;
    this.#budget = budget;
    this.rowCount = countOf(group.num_rows, 'its rows');
    sound(group.columns.length === segmentColumns.length, 'it has other columns');
  }

  read<Name extends ColumnName>(name: Name): Cells<Name> {
    const index = segmentColumns.findIndex((column) => column.name === name);
    const about = this.#group.columns[index]!.meta_data;
    sound(about !== undefined, `column ${name} is not described`);
    const { physical } = segmentColumns[index]!;
    const isIt = about.path_in_schema.length === 1 && about.path_in_schema[0] === name && about.type === physical;
    sound(isIt, `column ${name} is another one`);
    const at = countOf(about.dictionary_page_offset ?? about.data_page_offset, name);
    const end = at + countOf(about.total_compressed_size, name);
    sound(end <= this.#file.length, `column ${name} lies outside of the file`);
    const chunk = this.#file.subarray(at, end);
    return this.#cells(chunk, segmentColumns[index]!, about.codec) as unknown as Cells<Name>;
  }

  #cells(chunk: Buffer, column: SegmentColumn, codec: CompressionCodec): readonly Cell[] {
    const cells: Cell[] = [];
    let dictionary: readonly string[] = [];
    for (let at = 0; at < chunk.length; ) {
      const header = chunk.subarray(at, at + PAGE_HEADER_MAX_BYTES);
      const bodyAt = at + structEnd(header, 0);
      const head = parquetHeader({ view: viewOf(header), offset: 0 });
      const isFirst = at === 0;
      at = bodyAt + countOf(head.compressed_page_size, 'a page');
      sound(at <= chunk.length, `a page of column ${column.name} ends too late`);
      const size = countOf(head.uncompressed_page_size, 'a page');
      this.#budget.leftBytes -= size;
      sound(this.#budget.leftBytes >= 0, 'it unpacks to more than a segment may hold');
      const raw = { head, size, packed: chunk.subarray(bodyAt, at), codec };
      if (head.type === 'DICTIONARY_PAGE') {
        sound(isFirst && column.kind === 'name', `column ${column.name} has a dictionary`);
        dictionary = entriesOf(raw, this.rowCount);
        continue;
      }
      const page = pageOf(raw, column.isRequired);
      sound(page.count > 0 && page.count <= this.rowCount - cells.length, `column ${column.name} has other rows`);
      addCells(cells, page, column, dictionary);
    }
    sound(cells.length === this.rowCount, `column ${column.name} lacks rows`);
    return cells;
  }
}

type Cell = number | string | Uint8Array | null;

/** A page as the file has it. */
interface RawPage {
  readonly head: PageHeader;
  /** Size of the page once it is unpacked, in bytes. */
  readonly size: number;
  readonly packed: Buffer;
  readonly codec: CompressionCodec;
}

/** An unpacked page of data. */
interface Page {
  /** Number of rows. */
  readonly count: number;
  readonly encoding: string;
  /** Runs of bits that say which rows have a value; undefined: all have one. */
  readonly levels?: Buffer;
  readonly values: Buffer;
}

function pageOf({ head, size, packed, codec }: RawPage, isRequired: boolean): Page {
  const about = head.data_page_header_v2;
  sound(about !== undefined, 'a page is not a data page');
  const levelBytes = countOf(about.definition_levels_byte_length, 'a page');
  sound(about.repetition_levels_byte_length === 0 && levelBytes <= packed.length, 'a page has other levels');
  const count = countOf(about.num_values, 'a page');
  const values = unpacked(packed.subarray(levelBytes), countOf(size - levelBytes, 'a page'), codec);
  return { count, encoding: about.encoding, values, ...(!isRequired && { levels: packed.subarray(0, levelBytes) }) };
}

function addCells(cells: Cell[], page: Page, column: SegmentColumn, dictionary: readonly string[]): void {
  const { count, levels } = page;
  const isPresent = new Uint8Array(count).fill(1);
  if (levels !== undefined) {
    checkRuns(levels, 1, count);
    readRleBitPackedHybrid({ view: viewOf(levels), offset: 0 }, 1, isPresent, levels.length);
  }
  let valueCount = 0;
  for (let row = 0; row < count; row++) valueCount += isPresent[row]! & 1;
  const values = valuesOf(page, column, dictionary, valueCount);
  let next = 0;
  for (let row = 0; row < count; row++) cells.push((isPresent[row]! & 1) === 1 ? values[next++]! : null);
}

function valuesOf(
  { encoding, values }: Page,
  { name, physical }: SegmentColumn,
  dictionary: readonly string[],
  count: number,
): ArrayLike<Exclude<Cell, null>> {
  if (count === 0) return [];
  const reader = { view: viewOf(values), offset: 0 };
  if (encoding === 'PLAIN') {
    sound(count * plainBytes[physical] <= values.length, `column ${name} ends too early`);
    const read = readPlain(reader, physical, count, undefined);
    sound(reader.offset <= values.length, `column ${name} ends too early`);
    return physical === 'INT64' ? numbersOf(read) : (read as ArrayLike<number | Uint8Array>);
  }
  if (encoding === 'DELTA_BINARY_PACKED') {
    sound(physical === 'INT32' || physical === 'INT64', `column ${name} has no numbers`);
    checkDeltas(values, count);
    const read = physical === 'INT32' ? new Int32Array(count) : new BigInt64Array(count);
    deltaBinaryUnpack(reader, count, read);
    return numbersOf(read);
  }
  sound(encoding === 'RLE_DICTIONARY' && values.length > 0, `column ${name} is encoded as ${encoding}`);
  return namesOf(values, dictionary, count);
}

function numbersOf(read: DecodedArray): Float64Array {
  const numbers = new Float64Array(read.length);
  for (let index = 0; index < read.length; index++) {
    numbers[index] = Number(read[index]);
    sound(Number.isSafeInteger(numbers[index]), 'a number is too large');
  }
  return numbers;
}

function namesOf(values: Buffer, dictionary: readonly string[], count: number): readonly string[] {
  const width = values[0]!;
  sound(width <= INDEX_WIDTH_MAX, `its names have ${width} bits`);
  const indexes = new Int32Array(count);
  // With a single entry, an index takes no bits.
  if (width > 0) {
    const runs = values.subarray(1);
    checkRuns(runs, width, count);
    readRleBitPackedHybrid({ view: viewOf(runs), offset: 0 }, width, indexes, runs.length);
  }
  const names: string[] = [];
  for (let at = 0; at < count; at++) {
    const name = dictionary[indexes[at]!];
    sound(name !== undefined, 'a name is not in its dictionary');
    names.push(name);
  }
  return names;
}

function entriesOf({ head, size, packed, codec }: RawPage, rowCount: number): readonly string[] {
  const body = unpacked(packed, size, codec);
  const count = countOf(head.dictionary_page_header?.num_values, 'a dictionary');
  sound(count <= rowCount && count * plainBytes.BYTE_ARRAY <= body.length, 'its dictionary ends too early');
  const reader = { view: viewOf(body), offset: 0 };
  const entries = readPlain(reader, 'BYTE_ARRAY', count, undefined) as readonly Uint8Array[];
  sound(reader.offset <= body.length, 'its dictionary ends too early');
  return entries.map(latin1Of);
}

/** The bytes as characters up to U+00FF. */
export const latin1Of = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function unpacked(bytes: Buffer, length: number, codec: CompressionCodec): Buffer {
  if (codec === 'UNCOMPRESSED') {
    sound(bytes.length === length, 'a page has another length than it says');
    return bytes;
  }
  sound(codec === 'ZSTD', `it is compressed as ${codec}`);
  const canHold = Math.ceil(bytes.length / ZSTD_BLOCK_MIN_BYTES) * ZSTD_BLOCK_MAX_BYTES;
  sound(length <= canHold, 'a page unpacks to less than it says');
  let body: Buffer;
  try {
    body = zstdDecompressSync(bytes, {
      // One byte more than expected, so that excess is noticed and memory is allocated once.
      chunkSize: Math.max(CHUNK_MIN_BYTES, length + 1),
      maxOutputLength: length + 1,
      params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
    });
  } catch (cause) {
    throw damaged('a page can not be unpacked', cause);
  }
  sound(body.length === length, 'a page has another length than it says');
  return body;
}

export function countOf(value: number | bigint | undefined, what: string): number {
  const count = Number(value);
  sound(Number.isSafeInteger(count) && count >= 0, `${what} is not a count`);
  return count;
}

const viewOf = ({ buffer, byteOffset, byteLength }: Buffer): DataView => new DataView(buffer, byteOffset, byteLength);
