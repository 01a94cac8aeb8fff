/**
 * Owns the packing of records for logs that keep them packed: deflate with a preset dictionary of typical records, since most
 * of a small record is names that every other one has too; ids that were drawn are put before it as bytes. Knows nothing of what a
 * record says. Must not decide what is packed.
 *
 * P1 What was packed with a number is unpacked with the same number for ever: dictionaries are added, never changed.
 * P2 Unpacking never makes more than `UNPACKED_MAX_BYTES`, whatever the bytes.
 */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { CorruptError } from '@tidemark/core';
import { dictionary1 } from './packing-dictionary-1.ts';
import { putIds, takeIds } from './packing-ids.ts';

/** How bytes are packed; 0: they are not. Stored beside them. */
export type Packing = 0 | 1;

/** Larger values are left as they are: packing holds up the thread (about 10 ms for so much prose), and unpacking must know an end. */
export const UNPACKED_MAX_BYTES = 262_144;

/** What deflate can look back on. The base comes after the dictionary, and must not push it out. */
const WINDOW_BYTES = 32_768;

const dictionaries: { readonly [Number in Exclude<Packing, 0>]: Buffer } = { 1: Buffer.from(dictionary1) };

/** Longest base: bytes that both sides know beside the dictionary, such as earlier records. */
export const PACKING_BASE_MAX_BYTES = WINDOW_BYTES - 16_384;

/** Before the deflated text: how many bytes of ids stand in front of it. */
const IDS_LENGTH_BYTES = 2;

const NOTHING = new Uint8Array();

export interface Packed {
  readonly bytes: Uint8Array;
  readonly packing: Packing;
}

/** Packs the bytes; as they are, when they are too large or would not become smaller. */
export function pack(bytes: Uint8Array, base: Uint8Array = NOTHING): Packed {
  if (bytes.byteLength > UNPACKED_MAX_BYTES) return { bytes, packing: 0 };
  const dictionary = dictionaryOf(1, base);
  const { text, ids } = takeIds(bytes, dictionary);
  const head = Buffer.alloc(IDS_LENGTH_BYTES);
  head.writeUInt16BE(ids.length);
  const packed = Buffer.concat([head, ids, deflateRawSync(text, { dictionary, level: 9 })]);
  return packed.length < bytes.byteLength ? { bytes: packed, packing: 1 } : { bytes, packing: 0 };
}

/**
 * The bytes that were packed. `base` must be the one they were packed with. Throws `CorruptError`: `packing-damaged`, when they
 * can't be unpacked or would become too large; `packing-unknown`, for a number that this version doesn't have. Damage that
 * leaves bytes readable is not found: whoever stores them has a checksum.
 */
export function unpack({ bytes, packing }: Packed, base: Uint8Array = NOTHING): Uint8Array {
  if (packing === 0) return bytes;
  if (!Object.hasOwn(dictionaries, packing)) {
    const message = `The bytes are packed as ${packing}, which is not known here.`;
    throw new CorruptError('packing-unknown', message, { packing });
  }
  let cause: unknown;
  try {
    const unpacked = unpack1(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), base);
    if (unpacked !== undefined && unpacked.length <= UNPACKED_MAX_BYTES) return unpacked;
  } catch (error) {
    cause = error;
  }
  const message = `${bytes.byteLength} packed bytes can't be unpacked to ${UNPACKED_MAX_BYTES} at most.`;
  throw new CorruptError('packing-damaged', message, { packing, packedBytes: bytes.byteLength, cause });
}

function unpack1(bytes: Buffer, base: Uint8Array): Buffer | undefined {
  const textAt = IDS_LENGTH_BYTES + bytes.readUInt16BE();
  const options = { dictionary: dictionaryOf(1, base), maxOutputLength: UNPACKED_MAX_BYTES };
  const text = inflateRawSync(bytes.subarray(textAt), options);
  return putIds({ text, ids: bytes.subarray(IDS_LENGTH_BYTES, textAt) });
}

const dictionaryOf = (packing: Exclude<Packing, 0>, base: Uint8Array): Buffer =>
  base.byteLength === 0 ? dictionaries[packing] : Buffer.concat([dictionaries[packing], base]);
