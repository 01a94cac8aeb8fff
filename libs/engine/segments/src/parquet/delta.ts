/**
 * Owns DELTA_BINARY_PACKED: whole numbers by how much each is more than the one before, so that numbers that count up cost nothing.
 * Source: https://parquet.apache.org/docs/file-format/data-pages/encodings/#DELTAENC
 */

import { sound } from '../damage.ts';
import type { ByteSink } from './byte-sink.ts';

const BLOCK = 128;
const MINIBLOCKS = 4;
const MINIBLOCK = BLOCK / MINIBLOCKS;
/** Numbers that are further apart are written plainly: their bits would not fit beside each other in a number that counts exactly. */
export const DELTA_SPAN_MAX = 2 ** 44;
const WIDTH_MAX = 46;

/** Of at least one number; the greatest is at most `DELTA_SPAN_MAX` more than the least. */
export function writeDelta(sink: ByteSink, numbers: Float64Array, count: number): void {
  sink.varint(BLOCK);
  sink.varint(MINIBLOCKS);
  sink.varint(count);
  writeSigned(sink, numbers[0]!);
  const deltas = new Float64Array(BLOCK);
  for (let from = 1; from < count; from += BLOCK) {
    const size = Math.min(BLOCK, count - from);
    let least = Number.POSITIVE_INFINITY;
    for (let at = 0; at < size; at++) {
      const delta = numbers[from + at]! - numbers[from + at - 1]!;
      deltas[at] = delta;
      if (delta < least) least = delta;
    }
    writeBlock(sink, deltas, size, least);
  }
}

function writeBlock(sink: ByteSink, deltas: Float64Array, size: number, least: number): void {
  writeSigned(sink, least);
  const widths = [0, 0, 0, 0];
  for (let at = 0; at < size; at++) {
    const miniblock = Math.floor(at / MINIBLOCK);
    deltas[at]! -= least;
    widths[miniblock] = Math.max(widths[miniblock]!, deltas[at]!);
  }
  for (let index = 0; index < MINIBLOCKS; index++) {
    widths[index] = bitsOf(widths[index]!);
    sink.byte(widths[index]!);
  }
  deltas.fill(0, size);
  for (let index = 0; index < MINIBLOCKS; index++) {
    if (widths[index]! > 0) writeMiniblock(sink, deltas, index * MINIBLOCK, widths[index]!);
  }
}

function writeMiniblock(sink: ByteSink, deltas: Float64Array, from: number, width: number): void {
  let bits = 0;
  let held = 0;
  for (let at = from; at < from + MINIBLOCK; at++) {
    bits += deltas[at]! * 2 ** held;
    held += width;
    for (; held >= 8; held -= 8) {
      sink.byte(bits % 256);
      bits = Math.floor(bits / 256);
    }
  }
}

const bitsOf = (value: number): number => (value === 0 ? 0 : Math.floor(Math.log2(value)) + 1);

const writeSigned = (sink: ByteSink, value: number): void => sink.varint(value < 0 ? -2 * value - 1 : 2 * value);

/** So many numbers from the bytes behind `at`. Throws `CorruptError` (`segment-damaged`). */
export function readDelta(bytes: Buffer, at: number, count: number): Float64Array {
  const reader = new DeltaReader(bytes, at);
  const isOurs = reader.varint() === BLOCK && reader.varint() === MINIBLOCKS && reader.varint() === count;
  sound(isOurs, 'its numbers are packed in another way');
  const numbers = new Float64Array(count);
  numbers[0] = reader.signed();
  for (let from = 1; from < count; from += BLOCK) reader.block(numbers, from);
  return numbers;
}

class DeltaReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  block(numbers: Float64Array, from: number): void {
    const least = this.signed();
    const widths = [this.#byte(), this.#byte(), this.#byte(), this.#byte()];
    for (let index = 0; index < MINIBLOCKS; index++) {
      const width = widths[index]!;
      const start = from + index * MINIBLOCK;
      const end = Math.min(start + MINIBLOCK, numbers.length);
      if (start >= end) break;
      sound(width <= WIDTH_MAX, `its numbers have ${width} bits`);
      sound((MINIBLOCK / 8) * width <= this.#bytes.length - this.#at, 'its numbers end too early');
      this.#miniblock(numbers, start, end, width, least);
    }
  }

  #miniblock(numbers: Float64Array, start: number, end: number, width: number, least: number): void {
    const unit = 2 ** width;
    let value = numbers[start - 1]!;
    let bits = 0;
    let held = 0;
    let at = this.#at;
    for (let index = start; index < end; index++) {
      for (; held < width; held += 8) bits += this.#bytes[at++]! * 2 ** held;
      value += least + (bits % unit);
      numbers[index] = value;
      bits = Math.floor(bits / unit);
      held -= width;
    }
    this.#at += (MINIBLOCK / 8) * width;
  }

  varint(): number {
    let value = 0;
    for (let unit = 1; unit < 2 ** 56; unit *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
    sound(false, 'it has a number without an end');
    return value;
  }

  signed(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #byte(): number {
    sound(this.#at < this.#bytes.length, 'its numbers end too early');
    return this.#bytes[this.#at++]!;
  }
}
