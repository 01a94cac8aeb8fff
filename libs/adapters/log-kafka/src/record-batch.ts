/**
 * Owns the bytes of Kafka's record batches (magic 2, KIP-98): encoding appended records, decoding fetched ones. Writes neither compression
 * nor producer ids; reads compressed batches too, since a topic's configuration may compress. Must not do I/O. Decoded values are views of
 * the response: no copy, no object but the record itself (L1). Only small ones of a compressed batch are copied, since a view would keep
 * all that it unpacked to.
 */

import { crc32c, Writer } from '@platformatic/kafka';
import { CorruptError, type Offset } from '@tidemark/core';
import type { LogRecord, StoredRecord } from '@tidemark/ports';
import { unpackedBody } from './batch-body.ts';
import { BATCH_UNPACKED_MAX_BYTES } from './limits.ts';

/** Records of one partition that one read returns: empty ones cost no bytes. */
export const READ_MAX_RECORDS = 50_000;

/** Base offset and length, which stand before the bytes that the length counts. */
const FRAME_BYTES = 12;
/** Bytes of a batch before its records. */
export const HEADER_BYTES = 61;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const MAGIC = 2;
export const COMPRESSION_MASK = 0b111;
const CONTROL_BIT = 0b100000;
/** `[index, length]` of a partition in a produce request, written before the batch, so that a request is a list of buffers. */
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

/** Encodes a header's key and value with their lengths, as they stand in a record. */
function headerBlock(key: string, value: string): Buffer {
  const valueBytes = Buffer.byteLength(value);
  const block = Buffer.allocUnsafe(1 + key.length + varintBytes(valueBytes) + valueBytes);
  const at = writeVarint(block, 0, key.length);
  block.write(value, writeVarint(block, at + block.write(key, at, 'latin1'), valueBytes), 'utf8');
  return block;
}

const TRACE_KEY = 'traceparent';

/** Types are few, so their encoded headers are cached; the cache is bounded. */
const typeBlocks = new Map<string, Buffer>();
const TYPE_BLOCKS_MAX = 256;

function typeBlock(type: string): Buffer {
  const known = typeBlocks.get(type);
  if (known !== undefined) return known;
  const block = headerBlock('type', type);
  if (typeBlocks.size < TYPE_BLOCKS_MAX) typeBlocks.set(type, block);
  return block;
}

/** Length of a record after its own length field. Attributes, timestamp delta, null key and header count: a byte each. */
function bodyBytes(record: LogRecord, delta: number): number {
  const valueBytes = record.value.byteLength;
  const fixed = 4 + varintBytes(delta) + varintBytes(valueBytes) + valueBytes + typeBlock(record.type).length;
  if (record.trace === undefined) return fixed;
  const traceBytes = Buffer.byteLength(record.trace);
  return fixed + 1 + TRACE_KEY.length + varintBytes(traceBytes) + traceBytes;
}

function writeRecord(out: Buffer, at: number, record: LogRecord, delta: number): number {
  let place = writeVarint(out, at, bodyBytes(record, delta));
  out[place++] = 0; // attributes
  out[place++] = 0; // timestamp, relative to the batch's
  place = writeVarint(out, place, delta);
  out[place++] = 1; // no key: -1 in zigzag
  place = writeVarint(out, place, record.value.byteLength);
  out.set(record.value, place);
  place += record.value.byteLength;
  out[place++] = record.trace === undefined ? 2 : 4; // number of headers, in zigzag
  place += typeBlock(record.type).copy(out, place);
  return record.trace === undefined ? place : place + headerBlock(TRACE_KEY, record.trace).copy(out, place);
}

/** Records of one partition, to be encoded together. */
export interface RecordGroup {
  readonly partition: number;
  readonly records: readonly LogRecord[];
  readonly timestampMs: number;
}

/** Bytes of a group in a produce request, index and length included. */
export function groupBytes({ records }: RecordGroup): number {
  let total = PREFIX_BYTES + HEADER_BYTES;
  for (let delta = 0; delta < records.length; delta++) {
    const body = bodyBytes(records[delta]!, delta);
    total += varintBytes(body) + body;
  }
  return total;
}

/** Writes one partition of a produce request, of `groupBytes` bytes, at `at`: its index, the length, and the batch. The same group gives the same bytes. */
export function writeGroup(out: Buffer, at: number, bytes: number, group: RecordGroup): void {
  const { partition, records, timestampMs } = group;
  const start = at + PREFIX_BYTES;
  const end = at + bytes;
  out.writeInt32BE(partition, at);
  out.writeInt32BE(end - start, at + 4);
  HEADER.copy(out, start);
  out.writeInt32BE(end - start - FRAME_BYTES, start + 8);
  out.writeInt32BE(records.length - 1, start + 23);
  writeInt64(out, timestampMs, start + 27);
  writeInt64(out, timestampMs, start + 35);
  out.writeInt32BE(records.length, start + 57);
  let place = start + HEADER_BYTES;
  for (let delta = 0; delta < records.length; delta++) place = writeRecord(out, place, records[delta]!, delta);
  out.writeUInt32BE(checksum(out.subarray(start + ATTRIBUTES_AT, end)), start + CRC_AT);
}

/** The beginning of all our batches: the broker sets base offset and leader epoch; attributes are 0. */
const HEADER = Buffer.alloc(HEADER_BYTES);
HEADER.writeInt32BE(-1, 12);
HEADER[16] = MAGIC;
// No producer id, epoch or sequence: the fold rejects copies (architecture 3).
HEADER.fill(0xff, 43, 57);

/** CRC-32C. The library copies a plain buffer (3.2 µs a kilobyte), but not one of its own kind (0.9). */
const checksum = (bytes: Buffer): number => crc32c(Writer.create().append(bytes).dynamicBuffer);

const TWO_POW_32 = 0x1_0000_0000;

/** Writes a whole number between -2^53 and 2^53. */
export function writeInt64(out: Buffer, value: number, at: number): void {
  out.writeInt32BE(Math.floor(value / TWO_POW_32), at);
  out.writeUInt32BE(((value % TWO_POW_32) + TWO_POW_32) % TWO_POW_32, at + 4);
}

/** Reads a whole number between -2^53 and 2^53. */
export const readInt64 = (from: Buffer, at: number): number =>
  from.readInt32BE(at) * TWO_POW_32 + from.readUInt32BE(at + 4);

/** Collects records and stops at a budget of bytes, and at `READ_MAX_RECORDS`; always takes the first record. */
export interface RecordSink {
  readonly records: StoredRecord[];
  /** Bytes that may still be taken, values or what a batch unpacks to, whichever is more; below zero nothing more is taken. */
  leftBytes: number;
  /** No batch was unpacked for the first record, since other partitions of the read have used up far more than the budget. */
  isDeferred?: boolean;
  /** Takes no record from this offset on; absent: takes all. */
  readonly to?: number | undefined;
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
/** A value of less than one part in so many of what its batch unpacked to is copied. */
const VIEWED_SHARE = 2;

/**
 * Decodes the batches of one partition into the sink, from the offset `from` on. A batch cut short at the end is left
 * for the next fetch. Control records and records without a value come out empty: the offsets stay gapless (L1). So do the records of a
 * batch that unpacks to more than ours ever do: nothing of ours is in it, and an empty record is rejected.
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

/** Returns false when the budget is used up, or when no more records are wanted. */
function decodeBatch(batch: Buffer, base: number, from: number, sink: RecordSink): boolean {
  if (batch[16] !== MAGIC) {
    throw new CorruptError('log-damaged', `Offset ${base} has record format ${batch[16]}; only format 2 is read.`);
  }
  if (checksum(batch.subarray(ATTRIBUTES_AT)) !== batch.readUInt32BE(CRC_AT)) {
    throw new CorruptError('log-damaged', `The checksum of the batch at offset ${base} is wrong.`, { offset: base });
  }
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  const packing = attributes & COMPRESSION_MASK;
  if (packing === 0) return takeRecords(batch, batch.subarray(HEADER_BYTES), base, from, sink);
  if (sink.leftBytes <= (sink.records.length > 0 ? 0 : -BATCH_UNPACKED_MAX_BYTES)) {
    sink.isDeferred = sink.records.length === 0;
    return false;
  }
  const body = unpackedBody(batch.subarray(HEADER_BYTES), packing);
  const leftBytes = sink.leftBytes - (body?.length ?? BATCH_UNPACKED_MAX_BYTES);
  const isAll =
    body === undefined
      ? takeEmpty(base, base + batch.readInt32BE(23), from, sink)
      : takeRecords(batch, body, base, from, sink);
  // Whatever of it was taken: keys and headers are unpacked, too.
  sink.leftBytes = Math.min(sink.leftBytes, leftBytes);
  return isAll;
}

/** Returns false as `decodeBatch` does. */
function takeRecords(batch: Buffer, body: Buffer, base: number, from: number, sink: RecordSink): boolean {
  const attributes = batch.readInt16BE(ATTRIBUTES_AT);
  const isControl = (attributes & CONTROL_BIT) !== 0;
  const isUnpacked = (attributes & COMPRESSION_MASK) !== 0;
  const count = batch.readInt32BE(57);
  const cursor: Cursor = { at: 0 };
  for (let index = 0; index < count; index++) {
    const bodyLength = readVarint(body, cursor);
    const next = cursor.at + bodyLength;
    cursor.at++; // attributes
    readVarint(body, cursor); // timestamp
    const offset = base + readVarint(body, cursor);
    if (sink.to !== undefined && offset >= sink.to) return false;
    if (offset >= from && !take(sink, offset, isControl ? NOTHING : readValue(body, cursor, isUnpacked))) return false;
    cursor.at = next;
  }
  return true;
}

function take(sink: RecordSink, offset: number, value: Uint8Array): boolean {
  const { length } = sink.records;
  if ((length > 0 && value.length > sink.leftBytes) || length >= READ_MAX_RECORDS) return false;
  sink.leftBytes -= value.length;
  sink.records.push({ offset: offset as Offset, value });
  return true;
}

/** All offsets of a batch, without what is in it. */
function takeEmpty(base: number, last: number, from: number, sink: RecordSink): boolean {
  for (let offset = Math.max(base, from); offset <= last; offset++) {
    if ((sink.to !== undefined && offset >= sink.to) || !take(sink, offset, NOTHING)) return false;
  }
  return true;
}

function readValue(body: Buffer, cursor: Cursor, isUnpacked: boolean): Uint8Array {
  const keyLength = readVarint(body, cursor);
  if (keyLength > 0) cursor.at += keyLength;
  const length = readVarint(body, cursor);
  if (length < 0) return NOTHING;
  if (cursor.at + length > body.length) throw new CorruptError('log-damaged', 'A record is longer than its batch.');
  const value = body.subarray(cursor.at, cursor.at + length);
  return isUnpacked && length * VIEWED_SHARE < body.length ? Buffer.from(value) : value;
}
