/**
 * Owns the columns of a segment while it is written: values are taken row by row and put as Parquet wants them, without an object for any
 * of them. Texts are Latin-1 strings of UTF-8 bytes, which are made, compared and written several times as fast as decoded ones.
 * Must not compress (see chunk-writer.ts).
 */

import { PAGE_TARGET_BYTES } from '../limits.ts';
import { ByteSink } from './byte-sink.ts';
import { DELTA_SPAN_MAX, writeDelta } from './delta.ts';
import { type Column, encodings } from './format.ts';
import { widthOf, writeHybrid } from './hybrid.ts';

/** A page before compression. */
export interface PageBody {
  /** Rows, or entries of a dictionary. */
  readonly count: number;
  readonly body: Buffer;
}

/** All that is written of one column. */
export interface ColumnBody {
  readonly encoding: number;
  readonly dictionary?: PageBody;
  readonly pages: readonly PageBody[];
  readonly nullCount: number;
  /** The least and the greatest value, as Parquet's plain encoding has them without lengths. */
  readonly bounds?: { readonly min: Buffer; readonly max: Buffer };
}

export interface ColumnWriter<Value> {
  add(value: Value | null): void;
  finish(): ColumnBody;
}

const EMPTY = Buffer.alloc(0);
const NUMBER_BYTES = 8;
/** Longer bounds are left out: they say little, and stand in every footer. */
const BOUND_MAX_BYTES = 64;

/** Which rows have a value. */
class Presence {
  readonly #isPresent: Uint8Array;
  readonly #isRequired: boolean;
  rowCount = 0;
  valueCount = 0;

  constructor(rowCount: number, isRequired: boolean) {
    this.#isPresent = new Uint8Array(rowCount);
    this.#isRequired = isRequired;
  }

  add(isPresent: boolean): void {
    if (isPresent) {
      this.#isPresent[this.rowCount] = 1;
      this.valueCount++;
    }
    this.rowCount++;
  }

  get nullCount(): number {
    return this.rowCount - this.valueCount;
  }

  /** The levels of the rows `[from, to)`, as a page begins with them. */
  levels(from = 0, to = this.rowCount): Buffer {
    if (this.#isRequired) return EMPTY;
    const sink = new ByteSink();
    sink.uint32(0);
    writeHybrid(sink, this.#isPresent, from, to, 1);
    sink.bytes.writeUInt32LE(sink.length - 4, 0);
    return sink.written();
  }

  /** A column in one page. */
  page(values: Buffer): readonly PageBody[] {
    return [{ count: this.rowCount, body: Buffer.concat([this.levels(), values]) }];
  }
}

export class NumberWriter implements ColumnWriter<number> {
  readonly #presence: Presence;
  readonly #numbers: Float64Array;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;
  readonly #isNarrow: boolean;

  constructor({ physical, isRequired }: Column, rowCount: number) {
    this.#presence = new Presence(rowCount, isRequired);
    this.#numbers = new Float64Array(rowCount);
    this.#isNarrow = physical === 'INT32';
  }

  /** A whole number that can be counted. */
  add(value: number | null): void {
    if (value !== null) {
      this.#numbers[this.#presence.valueCount] = value;
      if (value < this.#min) this.#min = value;
      if (value > this.#max) this.#max = value;
    }
    this.#presence.add(value !== null);
  }

  finish(): ColumnBody {
    const { valueCount, nullCount } = this.#presence;
    if (valueCount === 0) return { encoding: encodings.PLAIN, pages: this.#presence.page(EMPTY), nullCount };
    const isDelta = this.#isNarrow || this.#max - this.#min <= DELTA_SPAN_MAX;
    const sink = new ByteSink(NUMBER_BYTES * valueCount);
    if (isDelta) writeDelta(sink, this.#numbers, valueCount);
    else for (let at = 0; at < valueCount; at++) sink.append(int64(this.#numbers[at]!));
    const bound = (value: number): Buffer => (this.#isNarrow ? int64(value).subarray(0, 4) : int64(value));
    const encoding = isDelta ? encodings.DELTA_BINARY_PACKED : encodings.PLAIN;
    const bounds = { min: bound(this.#min), max: bound(this.#max) };
    return { encoding, pages: this.#presence.page(sink.written()), nullCount, bounds };
  }
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeBigInt64LE(BigInt(value));
  return bytes;
}

export class DoubleWriter implements ColumnWriter<number> {
  readonly #presence: Presence;
  readonly #numbers: Float64Array;

  constructor({ isRequired }: Column, rowCount: number) {
    this.#presence = new Presence(rowCount, isRequired);
    this.#numbers = new Float64Array(rowCount);
  }

  add(value: number | null): void {
    if (value !== null) this.#numbers[this.#presence.valueCount] = value;
    this.#presence.add(value !== null);
  }

  finish(): ColumnBody {
    const { valueCount, nullCount } = this.#presence;
    const values = Buffer.alloc(NUMBER_BYTES * valueCount);
    for (let at = 0; at < valueCount; at++) values.writeDoubleLE(this.#numbers[at]!, at * NUMBER_BYTES);
    return { encoding: encodings.PLAIN, pages: this.#presence.page(values), nullCount };
  }
}

export class NameWriter implements ColumnWriter<string> {
  readonly #presence: Presence;
  readonly #entries = new Map<string, number>();
  readonly #indexes: Int32Array;
  /** Rows of one workflow stand together, mostly. */
  #last: string | null = null;
  #lastIndex = 0;

  constructor({ isRequired }: Column, rowCount: number) {
    this.#presence = new Presence(rowCount, isRequired);
    this.#indexes = new Int32Array(rowCount);
  }

  add(value: string | null): void {
    if (value !== null) {
      if (value !== this.#last) {
        this.#lastIndex = this.#indexOf(value);
        this.#last = value;
      }
      this.#indexes[this.#presence.valueCount] = this.#lastIndex;
    }
    this.#presence.add(value !== null);
  }

  #indexOf(value: string): number {
    const known = this.#entries.get(value);
    if (known !== undefined) return known;
    this.#entries.set(value, this.#entries.size);
    return this.#entries.size - 1;
  }

  finish(): ColumnBody {
    const { valueCount, nullCount } = this.#presence;
    if (valueCount === 0) return { encoding: encodings.PLAIN, pages: this.#presence.page(EMPTY), nullCount };
    const width = widthOf(this.#entries.size - 1);
    const sink = new ByteSink();
    sink.byte(width);
    writeHybrid(sink, this.#indexes, 0, valueCount, width);
    const pages = this.#presence.page(sink.written());
    const dictionary = { count: this.#entries.size, body: this.#dictionary() };
    return { encoding: encodings.RLE_DICTIONARY, dictionary, pages, nullCount, ...this.#bounds() };
  }

  #dictionary(): Buffer {
    const sink = new ByteSink();
    for (const entry of this.#entries.keys()) {
      sink.uint32(entry.length);
      sink.latin1(entry);
    }
    return sink.written();
  }

  /** Latin-1 strings compare as their bytes do, which is the order of UTF-8. */
  #bounds(): Pick<ColumnBody, 'bounds'> {
    let min: string | undefined;
    let max: string | undefined;
    for (const entry of this.#entries.keys()) {
      if (min === undefined || entry < min) min = entry;
      if (max === undefined || entry > max) max = entry;
    }
    if (min === undefined || max === undefined || Math.max(min.length, max.length) > BOUND_MAX_BYTES) return {};
    return { bounds: { min: Buffer.from(min, 'latin1'), max: Buffer.from(max, 'latin1') } };
  }
}

export class TextWriter implements ColumnWriter<string | Uint8Array> {
  readonly #presence: Presence;
  readonly #sink: ByteSink;
  /** Where pages end: the row, and the byte. */
  readonly #cuts: [row: number, byte: number][] = [];
  #pageFrom = 0;

  constructor({ isRequired }: Column, rowCount: number, expectedBytes?: number) {
    this.#presence = new Presence(rowCount, isRequired);
    this.#sink = new ByteSink(expectedBytes);
  }

  add(value: string | Uint8Array | null): void {
    this.#presence.add(value !== null);
    if (value === null) return;
    const sink = this.#sink;
    sink.uint32(value.length);
    if (typeof value === 'string') sink.latin1(value);
    else sink.append(value);
    if (sink.length - this.#pageFrom >= PAGE_TARGET_BYTES) this.#cut();
  }

  #cut(): void {
    this.#cuts.push([this.#presence.rowCount, this.#sink.length]);
    this.#pageFrom = this.#sink.length;
  }

  finish(): ColumnBody {
    const { rowCount, nullCount } = this.#presence;
    if (this.#cuts.at(-1)?.[0] !== rowCount) this.#cut();
    const pages: PageBody[] = [];
    let [fromRow, fromByte] = [0, 0];
    for (const [row, byte] of this.#cuts) {
      const values = this.#sink.written(fromByte, byte);
      pages.push({ count: row - fromRow, body: Buffer.concat([this.#presence.levels(fromRow, row), values]) });
      [fromRow, fromByte] = [row, byte];
    }
    return { encoding: encodings.PLAIN, pages, nullCount };
  }
}
