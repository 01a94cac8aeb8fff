/**
 * Owns Parquet's hybrid of runs and packed bits: small numbers, such as whether a value is there, and which entry of a dictionary it is.
 * Source: https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE
 */

import { sound } from '../damage.ts';
import type { ByteSink } from './byte-sink.ts';

/** Bits are packed in groups of so many numbers; a run that is shorter is no run. */
const GROUP = 8;
/** Numbers of more bits are never written: more entries than a segment has records. */
const WIDTH_MAX = 20;

type Numbers = Uint8Array | Int32Array;

/** Bits that hold every number up to `max`; one at least, which every reader takes. */
export const widthOf = (max: number): number => Math.max(1, 32 - Math.clz32(max));

/** Appends the numbers `[from, to)`, each of so many bits. */
export function writeHybrid(sink: ByteSink, numbers: Numbers, from: number, to: number, width: number): void {
  let packedFrom = from;
  for (let at = from; at < to; ) {
    const end = runEnd(numbers, at, to);
    if (end - at < GROUP) {
      at = Math.min(at + GROUP, to);
      continue;
    }
    writePacked(sink, numbers, packedFrom, at, width);
    sink.varint((end - at) * 2);
    for (let bit = 0; bit < width; bit += 8) sink.byte((numbers[at]! >>> bit) & 0xff);
    packedFrom = end;
    at = end;
  }
  writePacked(sink, numbers, packedFrom, to, width);
}

function runEnd(numbers: Numbers, at: number, to: number): number {
  let end = at + 1;
  while (end < to && numbers[end] === numbers[at]) end++;
  return end;
}

/** Whole groups, except at the end of all, where zeros fill the last one up. */
function writePacked(sink: ByteSink, numbers: Numbers, from: number, to: number, width: number): void {
  if (from === to) return;
  const groups = Math.ceil((to - from) / GROUP);
  sink.varint(groups * 2 + 1);
  let bits = 0;
  let held = 0;
  for (let at = from; at < from + groups * GROUP; at++) {
    bits |= (at < to ? numbers[at]! : 0) << held;
    held += width;
    for (; held >= 8; held -= 8) {
      sink.byte(bits & 0xff);
      bits >>>= 8;
    }
  }
}

/** Fills `numbers` from the bytes `[at, end)`. Throws `CorruptError` (`segment-damaged`). */
export function readHybrid(bytes: Buffer, at: number, end: number, width: number, numbers: Numbers): void {
  sound(width >= 1 && width <= WIDTH_MAX, `its numbers have ${width} bits`);
  const reader = new HybridReader(bytes, at, end, width);
  for (let done = 0; done < numbers.length; ) done = reader.next(numbers, done);
}

class HybridReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #width: number;
  #at: number;

  constructor(bytes: Buffer, at: number, end: number, width: number) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
    this.#width = width;
  }

  /** Reads one run, or some packed groups; returns how many numbers are there now. */
  next(numbers: Numbers, done: number): number {
    const head = this.#varint();
    const count = head % 2 === 0 ? head / 2 : ((head - 1) / 2) * GROUP;
    sound(count > 0, 'it has a run of nothing');
    const to = Math.min(done + count, numbers.length);
    if (head % 2 === 0) {
      sound(to === done + count, 'it has a run that is too long');
      numbers.fill(this.#take(Math.ceil(this.#width / 8)), done, to);
      return to;
    }
    sound(to > done + count - GROUP, 'it has more numbers than records');
    this.#packed(numbers, done, to, (count / 8) * this.#width);
    return to;
  }

  #packed(numbers: Numbers, from: number, to: number, byteCount: number): void {
    sound(byteCount <= this.#end - this.#at, 'its numbers end too early');
    const width = this.#width;
    const mask = (1 << width) - 1;
    let bits = 0;
    let held = 0;
    let at = this.#at;
    for (let index = from; index < to; index++) {
      for (; held < width; held += 8) bits |= this.#bytes[at++]! << held;
      numbers[index] = bits & mask;
      bits >>>= width;
      held -= width;
    }
    this.#at += byteCount;
  }

  #varint(): number {
    let value = 0;
    for (let bit = 0; bit < 28; bit += 7) {
      const byte = this.#take(1);
      value |= (byte & 0x7f) << bit;
      if (byte < 0x80) return value;
    }
    sound(false, 'it has a run without an end');
    return value;
  }

  #take(count: number): number {
    sound(this.#end - this.#at >= count, 'its numbers end too early');
    let value = 0;
    for (let index = 0; index < count; index++) value |= this.#bytes[this.#at++]! << (8 * index);
    return value;
  }
}
