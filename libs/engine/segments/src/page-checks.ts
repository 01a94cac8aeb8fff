/**
 * Owns the checks of bytes before the Parquet library reads them. The library trusts the claimed lengths of lists, runs and numbers, which
 * is fine for files that Tidemark wrote: a forged one could make it use all memory, or never end. Reading bytes that pass costs no more than
 * their own length, or the number of rows. Every check throws `CorruptError` (`segment-damaged`).
 */

import { damaged, sound } from './damage.ts';

/** Longest text in a footer or in a page's header. */
export const METADATA_TEXT_MAX_BYTES = 4_096;
/** Deepest nesting of structures in a footer or in a page's header. */
export const METADATA_DEPTH_MAX = 16;

/** Types of Thrift's compact protocol: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md */
const thrift = {
  STOP: 0,
  TRUE: 1,
  FALSE: 2,
  BYTE: 3,
  I16: 4,
  I32: 5,
  I64: 6,
  DOUBLE: 7,
  BINARY: 8,
  LIST: 9,
  STRUCT: 12,
};
const INT32_BYTES = 5;
const INT64_BYTES = 10;
/** Most bytes of a length, at seven bits each: all readers agree on numbers of up to 28 bits. */
const LENGTH_BYTES = 4;
/** A smaller list has its length beside its type. */
const SHORT_LIST = 15;

/** Returns where the Thrift structure that begins at `at` ends. Refuses lists longer than the structure, long texts and deep nesting. */
export function structEnd(bytes: Buffer, at: number, depth = 0): number {
  sound(depth < METADATA_DEPTH_MAX, 'its metadata is nested too deeply');
  for (let next = at; ; ) {
    const head = byteAt(bytes, next++);
    const type = head & 0x0f;
    if (type === thrift.STOP) return next;
    if (head >> 4 === 0) next = varint(bytes, next, INT32_BYTES).end;
    // The type of a boolean holds its value.
    if (type !== thrift.TRUE && type !== thrift.FALSE) next = valueEnd(bytes, next, type, depth + 1);
  }
}

function valueEnd(bytes: Buffer, at: number, type: number, depth: number): number {
  if (type === thrift.TRUE || type === thrift.FALSE || type === thrift.BYTE) return at + 1;
  if (type === thrift.I16 || type === thrift.I32) return varint(bytes, at, INT32_BYTES).end;
  if (type === thrift.I64) return varint(bytes, at, INT64_BYTES).end;
  if (type === thrift.DOUBLE) return at + 8;
  if (type === thrift.STRUCT) return structEnd(bytes, at, depth);
  if (type === thrift.LIST) return listEnd(bytes, at, depth);
  if (type !== thrift.BINARY) throw damaged(`its metadata has a value of type ${type}`);
  const { value: length, end } = varint(bytes, at, LENGTH_BYTES);
  sound(length <= METADATA_TEXT_MAX_BYTES, `its metadata has a text of ${length} bytes`);
  return end + length;
}

function listEnd(bytes: Buffer, at: number, depth: number): number {
  sound(depth < METADATA_DEPTH_MAX, 'its metadata is nested too deeply');
  const head = byteAt(bytes, at);
  const long = head >> 4 === SHORT_LIST ? varint(bytes, at + 1, LENGTH_BYTES) : undefined;
  const { value: length, end } = long ?? { value: head >> 4, end: at + 1 };
  sound(length <= bytes.length - end, 'its metadata has a list that is longer than itself');
  let next = end;
  for (let index = 0; index < length; index++) next = valueEnd(bytes, next, head & 0x0f, depth + 1);
  return next;
}

/** Numbers are packed in groups of this many. */
const GROUP = 8;

/** Checks that runs and packed groups of this width hold `count` numbers, and write none beyond. */
export function checkRuns(bytes: Buffer, width: number, count: number): void {
  let at = 0;
  for (let done = 0; done < count; ) {
    const { value: head, end } = varint(bytes, at, LENGTH_BYTES);
    const groups = head >> 1;
    const isPacked = head % 2 === 1;
    done += isPacked ? groups * GROUP : groups;
    sound(groups > 0 && done < count + (isPacked ? GROUP : 1), 'it has other runs than rows');
    at = end + (isPacked ? groups * width : Math.ceil(width / 8));
    sound(at <= bytes.length, 'its numbers end too early');
  }
}

/** Block size of DELTA_BINARY_PACKED as segments have it. */
const BLOCK = 128;
const MINIBLOCKS = 4;
const MINIBLOCK = BLOCK / MINIBLOCKS;
const DELTA_WIDTH_MAX = 64;

/** Checks that the differences hold `count` numbers, at least one. */
export function checkDeltas(bytes: Buffer, count: number): void {
  let at = 0;
  for (const expected of [BLOCK, MINIBLOCKS, count]) {
    const { value, end } = varint(bytes, at, LENGTH_BYTES);
    sound(value === expected, 'its numbers are packed in another way');
    at = end;
  }
  at = varint(bytes, at, INT64_BYTES).end;
  for (let from = 1; from < count; from += BLOCK) {
    const widthsAt = varint(bytes, at, INT64_BYTES).end;
    at = widthsAt + MINIBLOCKS;
    for (let index = 0; index < MINIBLOCKS && from + index * MINIBLOCK < count; index++) {
      const width = byteAt(bytes, widthsAt + index);
      sound(width <= DELTA_WIDTH_MAX, `its numbers have ${width} bits`);
      at += (MINIBLOCK / 8) * width;
    }
    sound(at <= bytes.length, 'its numbers end too early');
  }
}

/** A number of at most this many bytes, seven bits in each; exact up to 2^53. */
function varint(bytes: Buffer, at: number, maxBytes: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let index = 0; index < maxBytes; index++) {
    const byte = byteAt(bytes, at + index);
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  throw damaged('it has a number without an end');
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  sound(byte !== undefined, 'it ends too early');
  return byte;
}
