/**
 * Owns Thrift's compact protocol, as far as Parquet's footers and page headers need it. What is read is bounded by the bytes that are
 * there: every element takes one at least. Must not know what a structure means (see footer.ts, page.ts).
 * Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */

import { damaged, sound } from '../damage.ts';
import { THRIFT_DEPTH_MAX } from '../limits.ts';

/** A value that is written: its type and its bytes. */
export interface Thrift {
  readonly type: number;
  readonly bytes: Uint8Array;
}

const TRUE = 1;
const FALSE = 2;
const BYTE = 3;
const I16 = 4;
const I32 = 5;
const I64 = 6;
const DOUBLE = 7;
const BINARY = 8;
const LIST = 9;
const SET = 10;
const STRUCT = 12;

const NOTHING = new Uint8Array();
const DOUBLE_BYTES = 8;
const VARINT_MAX_BYTES = 10;
/** A list's length stands beside its type when it is smaller. */
const SHORT_LIST = 15;

export const i32 = (value: number): Thrift => ({ type: I32, bytes: varint(zigzag(value)) });
export const i64 = (value: number): Thrift => ({ type: I64, bytes: varint(zigzag(value)) });
/** A member of a structure; not of a list. */
export const flag = (value: boolean): Thrift => ({ type: value ? TRUE : FALSE, bytes: NOTHING });

export function binary(value: string | Uint8Array): Thrift {
  const bytes = Buffer.from(value);
  return { type: BINARY, bytes: Buffer.concat([varint(BigInt(bytes.length)), bytes]) };
}

/** Of one type, and not empty. */
export function list(items: readonly Thrift[]): Thrift {
  const { type } = items[0]!;
  const head = items.length < SHORT_LIST ? [(items.length << 4) | type] : [(SHORT_LIST << 4) | type];
  const length = items.length < SHORT_LIST ? NOTHING : varint(BigInt(items.length));
  return { type: LIST, bytes: Buffer.concat([Buffer.from(head), length, ...items.map(({ bytes }) => bytes)]) };
}

/** Members by their field ids, up to 15 apart; those that are undefined are left out. */
export function struct(members: Readonly<Record<number, Thrift | undefined>>): Thrift {
  const parts: Uint8Array[] = [];
  let last = 0;
  for (const [key, member] of Object.entries(members)) {
    if (member === undefined) continue;
    const id = Number(key);
    parts.push(Buffer.from([((id - last) << 4) | member.type]), member.bytes);
    last = id;
  }
  return { type: STRUCT, bytes: Buffer.concat([...parts, Buffer.from([0])]) };
}

const zigzag = (value: number): bigint => (value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value));

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

/** A value that was read. Whole numbers beyond what can be counted lose their last digits. */
export type ThriftRead = number | boolean | Buffer | readonly ThriftRead[] | ThriftStruct;
export type ThriftStruct = ReadonlyMap<number, ThriftRead>;

/** The structure that begins at `at`, and where it ends. Throws `CorruptError` (`segment-damaged`). */
export function readStruct(bytes: Buffer, at: number): { readonly members: ThriftStruct; readonly end: number } {
  const reader = new Reader(bytes, at);
  return { members: reader.struct(0), end: reader.at };
}

class Reader {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  struct(depth: number): ThriftStruct {
    sound(depth < THRIFT_DEPTH_MAX, 'its metadata is nested too deeply');
    const members = new Map<number, ThriftRead>();
    let id = 0;
    for (;;) {
      const head = this.#byte();
      if (head === 0) return members;
      id = head >> 4 === 0 ? Number(this.#signed()) : id + (head >> 4);
      const type = head & 0x0f;
      members.set(id, type === TRUE || type === FALSE ? type === TRUE : this.#value(type, depth));
    }
  }

  #value(type: number, depth: number): ThriftRead {
    if (type === TRUE || type === FALSE || type === BYTE) return this.#byte();
    if (type === I16 || type === I32 || type === I64) return Number(this.#signed());
    if (type === DOUBLE) return this.#take(DOUBLE_BYTES).readDoubleLE();
    if (type === BINARY) return this.#take(Number(this.#unsigned()));
    if (type === LIST || type === SET) return this.#list(depth + 1);
    if (type === STRUCT) return this.struct(depth + 1);
    throw damaged(`its metadata has a value of type ${type}`);
  }

  #list(depth: number): readonly ThriftRead[] {
    sound(depth < THRIFT_DEPTH_MAX, 'its metadata is nested too deeply');
    const head = this.#byte();
    const length = head >> 4 === SHORT_LIST ? Number(this.#unsigned()) : head >> 4;
    sound(length <= this.#bytes.length - this.at, 'its metadata has a list that is longer than itself');
    const items: ThriftRead[] = [];
    for (let index = 0; index < length; index++) items.push(this.#value(head & 0x0f, depth));
    return items;
  }

  #byte(): number {
    sound(this.at < this.#bytes.length, 'its metadata ends too early');
    return this.#bytes[this.at++]!;
  }

  #take(length: number): Buffer {
    sound(length <= this.#bytes.length - this.at, 'its metadata ends too early');
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  #unsigned(): bigint {
    let value = 0n;
    for (let index = 0; index < VARINT_MAX_BYTES; index++) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * index);
      if (byte < 0x80) return value;
    }
    throw damaged('its metadata has a number without an end');
  }

  #signed(): bigint {
    const value = this.#unsigned();
    return (value >> 1n) ^ -(value & 1n);
  }
}

/** The members of a structure, each of the type that is asked for; throw `CorruptError` (`segment-damaged`) otherwise. */
export function countIn(members: ThriftStruct, id: number, what: string): number {
  const value = members.get(id);
  sound(typeof value === 'number' && Number.isSafeInteger(value) && value >= 0, `${what} is no count`);
  return value;
}

export function bytesIn(members: ThriftStruct, id: number, what: string): Buffer {
  const value = members.get(id);
  sound(Buffer.isBuffer(value), `${what} is no text`);
  return value;
}

export function structIn(members: ThriftStruct, id: number, what: string): ThriftStruct {
  return asStruct(members.get(id), what);
}

export function structsIn(members: ThriftStruct, id: number, what: string): readonly ThriftStruct[] {
  const value = members.get(id);
  sound(Array.isArray(value), `${what} is no list`);
  return value.map((item: ThriftRead) => asStruct(item, what));
}

function asStruct(value: ThriftRead | undefined, what: string): ThriftStruct {
  sound(value instanceof Map, `${what} is no structure`);
  return value;
}
