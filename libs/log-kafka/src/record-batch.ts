/**
 * Owns the bytes of Kafka's record batches (magic 2, KIP-98): encoding what we append, decoding what we fetch. Writes
 * neither compression nor producer ids; reads compressed batches too, since a topic's configuration may compress.
 * Must not do I/O. Decoded values are views of the response: no copy, no object but the record itself (L1).
 */

import { compressionsAlgorithmsByBitmask, crc32c } from '@platformatic/kafka';
import { CorruptError, type Offset } from '@tidemark/core';
import type { LogRecord, StoredRecord } from '@tidemark/ports';

/** Base offset and length, which stand before what the length counts. */
const FRAME_BYTES = 12;
/** Everything of a batch before its records. */
const HEADER_BYTES = 61;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const MAGIC = 2;
const COMPRESSION_MASK = 0b111;
const CONTROL_BIT = 0b100000;
/** `[index, length]` of a partition in a produce request: written in front, so that a request is a list of buffers. */
export const PREFIX_BYTES = 8;

/** An upper bound of what a record adds to a batch beside its value. */
export const recordOverheadBytes = (record: LogRecord): number =>
  48 + record.type.length * 3 + (record.trace === undefined ? 0 : record.trace.length * 3);
/** An upper bound of what a batch adds to its records. */
export const BATCH_OVERHEAD_BYTES = HEADER_BYTES + PREFIX_BYTES;

/** Bytes of a non-negative number as a zigzag varint. */
function varintBytes(value: number): number {
  if (value < 0x40) return 1;
  if (value < 0x2000) return 2;
  if (value < 0x100000) return 3;
  if (value < 0x8000000) return 4;
  return 5;
}

/** Writes a non-negative number below 2^31 as a zigzag varint; returns the place after it. */
function writeVarint(out: Buffer, at: number, value: number): number {
  let rest = value * 2;
  let place = at;
  while (rest > 0x7f) {
    out[place++] = (rest % 128) | 0x80;
    rest = Math.floor(rest / 128);
  }
  out[place++] = rest;
  return place;
}

const TYPE_KEY = Buffer.from('type');
const TRACE_KEY = Buffer.from('traceparent');

const headerBytes = (key: Buffer, valueBytes: number): number => 1 + key.length + varintBytes(valueBytes) + valueBytes;

function writeHeader(out: Buffer, at: number, key: Buffer, value: string, valueBytes: number): number {
  let place = writeVarint(out, at, key.length);
  place += key.copy(out, place);
  place = writeVarint(out, place, valueBytes);
  return place + out.write(value, place, 'utf8');
}

/** Length of a record after its own length field. Attributes, timestamp delta and the null key take one byte each. */
function bodyBytes(record: LogRecord, delta: number): number {
  const valueBytes = record.value.byteLength;
  const fixed = 4 + varintBytes(delta) + varintBytes(valueBytes) + valueBytes;
  const type = headerBytes(TYPE_KEY, Buffer.byteLength(record.type));
  return fixed + type + (record.trace === undefined ? 0 : headerBytes(TRACE_KEY, Buffer.byteLength(record.trace)));
}

function writeRecord(out: Buffer, at: number, record: LogRecord, delta: number, body: number): number {
  let place = writeVarint(out, at, body);
  out[place++] = 0; // attributes
  out[place++] = 0; // timestamp, relative to the batch's
  place = writeVarint(out, place, delta);
  out[place++] = 1; // no key: -1 in zigzag
  place = writeVarint(out, place, record.value.byteLength);
  out.set(record.value, place);
  place += record.value.byteLength;
  out[place++] = record.trace === undefined ? 2 : 4; // number of headers, in zigzag
  place = writeHeader(out, place, TYPE_KEY, record.type, Buffer.byteLength(record.type));
  if (record.trace === undefined) return place;
  return writeHeader(out, place, TRACE_KEY, record.trace, Buffer.byteLength(record.trace));
}

/** One partition of a produce request: its index, the length, and the batch. The same input gives the same bytes. */
export function encodeBatch(partition: number, records: readonly LogRecord[], timestampMs: number): Buffer {
  const bodies: number[] = [];
  let total = HEADER_BYTES;
  for (let delta = 0; delta < records.length; delta++) {
    const body = bodyBytes(records[delta]!, delta);
    bodies.push(body);
    total += varintBytes(body) + body;
  }
  const whole = Buffer.allocUnsafe(PREFIX_BYTES + total);
  whole.writeInt32BE(partition, 0);
  whole.writeInt32BE(total, 4);
  const out = whole.subarray(PREFIX_BYTES);
  writeBatchHeader(out, records.length, timestampMs);
  let at = HEADER_BYTES;
  for (let delta = 0; delta < records.length; delta++) {
    at = writeRecord(out, at, records[delta]!, delta, bodies[delta]!);
  }
  out.writeUInt32BE(crc32c(out.subarray(ATTRIBUTES_AT)), CRC_AT);
  return whole;
}

function writeBatchHeader(out: Buffer, count: number, timestampMs: number): void {
  out.fill(0, 0, 8); // base offset: the broker's to give
  out.writeInt32BE(out.length - FRAME_BYTES, 8);
  out.writeInt32BE(-1, 12); // leader epoch: the broker's to give
  out[16] = MAGIC;
  out.writeInt16BE(0, ATTRIBUTES_AT);
  out.writeInt32BE(count - 1, 23);
  writeInt64(out, timestampMs, 27);
  writeInt64(out, timestampMs, 35);
  // Neither producer id, nor epoch, nor sequence: the fold rejects copies (architecture 3).
  out.fill(0xff, 43, 57);
  out.writeInt32BE(count, 57);
}

const TWO_POW_32 = 0x1_0000_0000;

/** Writes a whole number between -2^53 and 2^53. */
export function writeInt64(out: Buffer, value: number, at: number): void {
  out.writeInt32BE(Math.floor(value / TWO_POW_32), at);
  out.writeUInt32BE(((value % TWO_POW_32) + TWO_POW_32) % TWO_POW_32, at + 4);
}

/** Reads a whole number between -2^53 and 2^53. */
export const readInt64 = (from: Buffer, at: number): number =>
  from.readInt32BE(at) * TWO_POW_32 + from.readUInt32BE(at + 4);

/** Collects records and stops at a budget of bytes; the first record is always taken. */
export interface RecordSink {
  readonly records: StoredRecord[];
  /** Value bytes that may still be taken; below zero nothing more is. */
  leftBytes: number;
}

/** A place in a buffer while varints are read. */
interface Cursor {
  at: number;
}

function readVarint(from: Buffer, cursor: Cursor): number {
  let shift = 1;
  let value = 0;
  for (;;) {
    const byte = from[cursor.at++];
    if (byte === undefined) throw new CorruptError('log-damaged', 'A record ends in the middle of a number.');
    value += (byte & 0x7f) * shift;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    shift *= 128;
  }
}

const NOTHING = new Uint8Array(0);

/**
 * Decodes the batches of one partition into the sink, from the offset `from` on. A batch cut short at the end is left
 * for the next fetch. Control records and records without a value come out empty: the offsets stay gapless (L1).
 * Throws `CorruptError` with code `log-damaged` when a checksum or a length is wrong.
 */
export function decodeBatches(bytes: Buffer, from: number, sink: RecordSink): void {
  let at = 0;
  while (at + HEADER_BYTES <= bytes.length) {
    const end = at + FRAME_BYTES + bytes.readInt32BE(at + 8);
    if (end > bytes.length) return;
    const batch = bytes.subarray(at, end);
    const base = readInt64(batch, 0);
    if (base + batch.readInt32BE(23) >= from && !decodeBatch(batch, base, from, sink)) return;
    at = end;
  }
}

/** Returns false when the budget is used up. */
function decodeBatch(batch: Buffer, base: number, from: number, sink: RecordSink): boolean {
  if (batch[16] !== MAGIC) {
    throw new CorruptError('log-damaged', `Offset ${base} has record format ${batch[16]}; only format 2 is read.`);
  }
  if (crc32c(batch.subarray(ATTRIBUTES_AT)) !== batch.readUInt32BE(CRC_AT)) {
    throw new CorruptError('log-damaged', `The checksum of the batch at offset ${base} is wrong.`, { offset: base });
  }
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  const isControl = (attributes & CONTROL_BIT) !== 0;
  const body = inflate(batch.subarray(HEADER_BYTES), attributes & COMPRESSION_MASK);
  const count = batch.readInt32BE(57);
  const cursor: Cursor = { at: 0 };
  for (let index = 0; index < count; index++) {
    const bodyLength = readVarint(body, cursor);
    const next = cursor.at + bodyLength;
    cursor.at++; // attributes
    readVarint(body, cursor); // timestamp
    const offset = base + readVarint(body, cursor);
    if (offset >= from) {
      const value = isControl ? NOTHING : readValue(body, cursor);
      if (sink.records.length > 0 && value.length > sink.leftBytes) return false;
      sink.leftBytes -= value.length;
      sink.records.push({ offset: offset as Offset, value });
    }
    cursor.at = next;
  }
  return true;
}

function readValue(body: Buffer, cursor: Cursor): Uint8Array {
  const keyLength = readVarint(body, cursor);
  if (keyLength > 0) cursor.at += keyLength;
  const length = readVarint(body, cursor);
  if (length < 0) return NOTHING;
  if (cursor.at + length > body.length) throw new CorruptError('log-damaged', 'A record is longer than its batch.');
  return body.subarray(cursor.at, cursor.at + length);
}

function inflate(body: Buffer, algorithm: number): Buffer {
  if (algorithm === 0) return body;
  const known = compressionsAlgorithmsByBitmask[algorithm];
  if (known === undefined) throw new CorruptError('log-damaged', `Unknown compression ${algorithm} of a batch.`);
  return known.decompressSync(body);
}
