/**
 * Owns the records of the topic of wrapped keys, and their bytes. A key is a record with its id as key and JSON as value; a later one
 * replaces it. A destruction is two records: an empty one under the id, so that compaction clears the wrapped bytes, and one under
 * `destroyed/ID`, which compaction never clears, for readers that come when the empty one has long gone, or that find a key that was
 * written again afterwards. Must not do I/O.
 */

import { crc32c, createRecordsBatch, Reader, readRecordsBatch, Writer } from '@platformatic/kafka';
import { ConfigError, CorruptError } from '@tidemark/core';
import type { KeyChange, LogRecord, StoredKey } from '@tidemark/ports';
import type { PartitionBatch } from './append-client.ts';
import { unpackedBody } from './batch-body.ts';
import { BATCH_UNPACKED_MAX_BYTES } from './limits.ts';
import { COMPRESSION_MASK, HEADER_BYTES, PREFIX_BYTES } from './record-batch.ts';

/** Format of the values. A greater one was written by a newer Tidemark. */
const FORMAT = 1;
const DESTROYED = 'destroyed/';
const NOTHING = new Uint8Array(0);

/** The appender carries records of the log; here `type` is the record's key, and an empty value stands for none. */
export const putRecord = (key: StoredKey): LogRecord => ({ type: key.id, value: textBytes({ v: FORMAT, ...key }) });

export const destroyRecords = (id: string): readonly LogRecord[] => [
  { type: id, value: NOTHING },
  { type: `${DESTROYED}${id}`, value: textBytes({ v: FORMAT, destroyed: id }) },
];

const textBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Encodes a batch as a produce request holds it: the partition's index, the length, and the batch. */
export function encodeKeyed(batch: PartitionBatch): void {
  const timestamp = BigInt(batch.timestampMs);
  const messages = batch.records.map(({ type, value }) => ({
    topic: '',
    key: Buffer.from(type),
    value: (value.byteLength === 0 ? null : Buffer.from(value)) as Buffer,
    timestamp,
  }));
  const records = createRecordsBatch(messages).buffer;
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeInt32BE(batch.partition, 0);
  prefix.writeInt32BE(records.length, 4);
  const bytes = Buffer.concat([prefix, records]);
  batch.encoded = { bytes, start: 0, end: bytes.length };
}

export interface DecodedChanges {
  readonly changes: readonly KeyChange[];
  /** The position after the last whole batch; undefined: there is none. */
  readonly next: number | undefined;
}

const FRAME_BYTES = 12;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const CONTROL_BIT = 0b100000;

/**
 * Decodes the records of one partition, from the offset on; offsets may have gaps, and batches no records. A batch that is cut short at the
 * end is left for the next fetch, and so is what follows when `BATCH_UNPACKED_MAX_BYTES` are unpacked. Throws `CorruptError`
 * (`log-damaged`), `ConfigError` (`keys-newer`).
 */
export function decodeChanges(bytes: Buffer, from: number): DecodedChanges {
  const changes: KeyChange[] = [];
  let next: number | undefined;
  let leftBytes = BATCH_UNPACKED_MAX_BYTES;
  for (let at = 0; at + FRAME_BYTES <= bytes.length && leftBytes > 0; ) {
    const end = at + FRAME_BYTES + bytes.readInt32BE(at + 8);
    if (end > bytes.length) break;
    const decoded = decodeBatch(bytes.subarray(at, end), from, changes);
    next = Math.max(from, decoded.next);
    leftBytes -= decoded.bytes;
    at = end;
  }
  return { changes, next };
}

/** Returns the offset after the batch, and the bytes to which it was unpacked. */
function decodeBatch(bytes: Buffer, from: number, changes: KeyChange[]): { next: number; bytes: number } {
  const first = Number(bytes.readBigInt64BE(0));
  const checksum = crc32c(Writer.create().append(bytes.subarray(ATTRIBUTES_AT)).dynamicBuffer);
  if (checksum !== bytes.readUInt32BE(CRC_AT)) {
    throw new CorruptError('log-damaged', `The checksum of the keys at offset ${first} is wrong.`, { offset: first });
  }
  const plain = plainBatch(bytes, first);
  const batch = readRecordsBatch(Reader.from(plain));
  const isControl = (batch.attributes & CONTROL_BIT) !== 0;
  for (const { offsetDelta, key, value } of isControl ? [] : batch.records) {
    const offset = first + offsetDelta;
    if (offset >= from) changes.push(changeOf(offset, key as Buffer | null, value as Buffer | null));
  }
  return { next: first + batch.lastOffsetDelta + 1, bytes: plain.length };
}

/** The batch with its records unpacked: the library would unpack any amount. Passing over one would lose keys. */
function plainBatch(bytes: Buffer, offset: number): Buffer {
  const attributes = bytes.readInt16BE(ATTRIBUTES_AT);
  if ((attributes & COMPRESSION_MASK) === 0) return bytes;
  const body = unpackedBody(bytes.subarray(HEADER_BYTES), attributes & COMPRESSION_MASK);
  if (body === undefined) throw damaged(offset, 'it unpacks to more than a batch of keys can hold');
  const plain = Buffer.concat([bytes.subarray(0, HEADER_BYTES), body]);
  plain.writeInt32BE(plain.length - FRAME_BYTES, 8);
  plain.writeInt16BE(attributes & ~COMPRESSION_MASK, ATTRIBUTES_AT);
  return plain;
}

function changeOf(offset: number, key: Buffer | null, value: Buffer | null): KeyChange {
  const name = key?.toString() ?? '';
  if (name === '') throw damaged(offset, 'it has no key');
  if (name.startsWith(DESTROYED)) return { kind: 'destroyed', id: name.slice(DESTROYED.length) };
  if (value === null) return { kind: 'destroyed', id: name };
  return { kind: 'put', key: storedKey(offset, name, value) };
}

const TEXTS = ['tenant', 'workflow', 'provider', 'wrappedBy', 'wrapped'] as const;

function storedKey(offset: number, id: string, value: Buffer): StoredKey {
  const { v, ...stored } = asObject(offset, value);
  if (typeof v === 'number' && v > FORMAT) {
    const message = `A key at offset ${offset} has format ${v}; this version of Tidemark reads ${FORMAT}.`;
    throw new ConfigError('keys-newer', message, { offset, found: v, known: FORMAT });
  }
  const isWhole = v === FORMAT && stored.id === id && TEXTS.every((name) => typeof stored[name] === 'string');
  if (!isWhole || (stored.user !== null && typeof stored.user !== 'string'))
    throw damaged(offset, 'it is not a stored key');
  const { tenant, workflow, user, provider, wrappedBy, wrapped } = stored as unknown as StoredKey;
  return { id, tenant, workflow, user, provider, wrappedBy, wrapped };
}

function asObject(offset: number, value: Buffer): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(value.toString());
    if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
  } catch {
    // Reported below without the cause: a parser's message would quote the value.
  }
  throw damaged(offset, 'its value is not a JSON object');
}

const damaged = (offset: number, why: string): CorruptError =>
  new CorruptError('log-damaged', `The record of the key topic at offset ${offset} is damaged: ${why}.`, { offset });
