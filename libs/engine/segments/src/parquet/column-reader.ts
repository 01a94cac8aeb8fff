/**
 * Owns reading a column as chunk-writer.ts writes it; of other ways to write Parquet it knows nothing. What a page claims is held
 * against what its bytes can hold before memory is taken for it.
 */

import { constants, zstdDecompressSync } from 'node:zlib';
import { damaged, sound } from '../damage.ts';
import { ZSTD_WINDOW_LOG } from '../limits.ts';
import { readDelta } from './delta.ts';
import type { ChunkPlace } from './footer.ts';
import { type Column, codecs, encodings, pageTypes } from './format.ts';
import { readHybrid } from './hybrid.ts';
import { countIn, readStruct, structIn } from './thrift.ts';

/** A block of zstd takes four bytes at least, and gives so many at most. */
const ZSTD_BLOCK_MIN_BYTES = 4;
const ZSTD_BLOCK_MAX_BYTES = 131_072;

/** What may still be unpacked; shared by the columns of one file. */
export interface UnpackBudget {
  leftBytes: number;
}

export interface ChunkSource {
  readonly file: Buffer;
  readonly place: ChunkPlace;
  readonly column: Column;
  readonly rowCount: number;
  readonly budget: UnpackBudget;
}

interface Page {
  readonly isDictionary: boolean;
  readonly count: number;
  readonly encoding: number;
  readonly body: Buffer;
}

/** A page's levels and where its values begin. */
interface PageRows {
  /** Per row, 1 where it has a value. */
  readonly isPresent: Uint8Array;
  readonly valueCount: number;
  readonly valuesAt: number;
}

/** Per row, NaN where it has none. */
export function readNumbers(source: ChunkSource): Float64Array {
  const rows = new Float64Array(source.rowCount);
  let row = 0;
  for (const page of pagesOf(source)) {
    const { isPresent, valueCount, valuesAt } = rowsOf(page, source.column);
    const values = numbersOf(page, valuesAt, valueCount);
    let next = 0;
    for (const is of isPresent) rows[row++] = is === 1 ? values[next++]! : Number.NaN;
  }
  return rows;
}

function numbersOf({ encoding, body }: Page, at: number, count: number): Float64Array {
  if (count === 0) return new Float64Array();
  const numbers =
    encoding === encodings.DELTA_BINARY_PACKED ? readDelta(body, at, count) : plainNumbers(body, at, count);
  for (const number of numbers) sound(Number.isSafeInteger(number), 'a number is too large');
  return numbers;
}

function plainNumbers(body: Buffer, at: number, count: number): Float64Array {
  sound(8 * count <= body.length - at, 'its numbers end too early');
  return Float64Array.from({ length: count }, (_, index) => Number(body.readBigInt64LE(at + 8 * index)));
}

/** Names by index, and per row its index, -1 where it has none. */
export interface Names {
  /** Latin-1 strings of UTF-8 bytes. */
  readonly entries: readonly string[];
  readonly indexes: Int32Array;
}

export function readNames(source: ChunkSource): Names {
  const indexes = new Int32Array(source.rowCount);
  let entries: readonly string[] = [];
  let row = 0;
  for (const page of pagesOf(source)) {
    if (page.isDictionary) {
      entries = entriesOf(page);
      continue;
    }
    const { isPresent, valueCount, valuesAt } = rowsOf(page, source.column);
    const values = new Int32Array(valueCount);
    if (valueCount > 0) {
      sound(page.encoding === encodings.RLE_DICTIONARY && valuesAt < page.body.length, 'its names have no dictionary');
      readHybrid(page.body, valuesAt + 1, page.body.length, page.body[valuesAt]!, values);
    }
    let next = 0;
    for (const is of isPresent) {
      const index = is === 1 ? values[next++]! : -1;
      sound(index < entries.length, 'a name is not in its dictionary');
      indexes[row++] = index;
    }
  }
  return { entries, indexes };
}

function entriesOf({ body, count }: Page): readonly string[] {
  sound(4 * count <= body.length, 'its dictionary ends too early');
  const entries: string[] = [];
  for (let at = 0, index = 0; index < count; index++) {
    const start = at + 4;
    sound(start <= body.length, 'its dictionary ends too early');
    at = start + body.readUInt32LE(start - 4);
    sound(at <= body.length, 'its dictionary ends too early');
    entries.push(body.toString('latin1', start, at));
  }
  return entries;
}

/** Bytes of each row, all in one piece. */
export interface Texts {
  readonly bytes: Buffer;
  readonly starts: Float64Array;
  /** -1 where the row has none. */
  readonly lengths: Int32Array;
}

export function readTexts(source: ChunkSource): Texts {
  const starts = new Float64Array(source.rowCount);
  const lengths = new Int32Array(source.rowCount);
  const pages = [...pagesOf(source)];
  let row = 0;
  let base = 0;
  for (const page of pages) {
    const { isPresent, valuesAt } = rowsOf(page, source.column);
    const { body } = page;
    let at = valuesAt;
    for (const is of isPresent) {
      lengths[row] = -1;
      if (is === 1) {
        sound(at + 4 <= body.length, 'its texts end too early');
        const length = body.readUInt32LE(at);
        sound(length <= body.length - at - 4, 'its texts end too early');
        starts[row] = base + at + 4;
        lengths[row] = length;
        at += 4 + length;
      }
      row++;
    }
    base += body.length;
  }
  const bytes = pages.length === 1 ? pages[0]!.body : Buffer.concat(pages.map(({ body }) => body));
  return { bytes, starts, lengths };
}

/** The chunk's pages, unpacked; they hold all rows. Throws `CorruptError` (`segment-damaged`). */
function* pagesOf({ file, place, column, rowCount, budget }: ChunkSource): Generator<Page> {
  const end = place.at + place.sizeBytes;
  sound(end <= file.length, `column ${column.name} lies outside of the file`);
  let rows = 0;
  for (let at = place.at; at < end; ) {
    const head = readStruct(file.subarray(at, end), 0);
    const isDictionary = countIn(head.members, 1, 'a page') === pageTypes.DICTIONARY;
    const unpackedBytes = countIn(head.members, 2, 'a page');
    const packedBytes = countIn(head.members, 3, 'a page');
    const about = structIn(head.members, isDictionary ? 7 : 5, 'a page');
    const count = countIn(about, 1, 'a page');
    const bodyAt = at + head.end;
    at = bodyAt + packedBytes;
    sound(at <= end, `a page of column ${column.name} ends too late`);
    rows += isDictionary ? 0 : count;
    sound(count <= rowCount && rows <= rowCount, `column ${column.name} has too many rows`);
    budget.leftBytes -= unpackedBytes;
    sound(budget.leftBytes >= 0, 'it unpacks to more than a segment may hold');
    const body = unpacked(file.subarray(bodyAt, at), unpackedBytes, place.codec);
    yield { isDictionary, count, encoding: countIn(about, 2, 'a page'), body };
  }
  sound(rows === rowCount, `column ${column.name} lacks rows`);
}

function unpacked(bytes: Buffer, length: number, codec: number): Buffer {
  if (codec === codecs.UNCOMPRESSED) {
    sound(bytes.length === length, 'a page has another length than it says');
    return bytes;
  }
  sound(codec === codecs.ZSTD, `it is compressed as ${codec}`);
  const canHold = Math.ceil(bytes.length / ZSTD_BLOCK_MIN_BYTES) * ZSTD_BLOCK_MAX_BYTES;
  sound(length <= canHold, 'a page unpacks to less than it says');
  let body: Buffer;
  try {
    body = zstdDecompressSync(bytes, {
      // One byte more than there should be, so that more is noticed, and memory is taken once.
      chunkSize: Math.max(MIN_CHUNK_BYTES, length + 1),
      maxOutputLength: length + 1,
      params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
    });
  } catch (cause) {
    throw damaged('a page can not be unpacked', cause);
  }
  sound(body.length === length, 'a page has another length than it says');
  return body;
}

/** What zlib takes memory for at a time, at least. */
const MIN_CHUNK_BYTES = 1024;

function rowsOf({ body, count, isDictionary }: Page, { name, isRequired }: Column): PageRows {
  sound(!isDictionary, `column ${name} has a dictionary`);
  const isPresent = new Uint8Array(count);
  if (isRequired) return { isPresent: isPresent.fill(1), valueCount: count, valuesAt: 0 };
  sound(body.length >= 4, 'a page ends too early');
  const valuesAt = 4 + body.readUInt32LE(0);
  sound(valuesAt <= body.length, 'a page ends too early');
  readHybrid(body, 4, valuesAt, 1, isPresent);
  let valueCount = 0;
  for (const is of isPresent) valueCount += is;
  return { isPresent, valueCount, valuesAt };
}
