/**
 * Owns the packing of records for logs that store them packed: deflate with a preset dictionary of typical records, since most of a small
 * record is names that every record has. Random ids are moved in front of the text as bytes. Knows nothing of what a record says. Must not
 * decide what is packed.
 *
 * P1 What was packed with a number is unpacked with the same number for ever: dictionaries are added, never changed.
 * P2 Unpacking never makes more than `UNPACKED_MAX_BYTES`, whatever the bytes.
 */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { CorruptError } from '@tidemark/core';
import { dictionary1 } from './packing-dictionary-1.ts';
import { putIds, takeIds } from './packing-ids.ts';

/** How bytes are packed; 0: unpacked. Stored beside them. */
export type Packing = 0 | 1;

/** Larger values stay unpacked: packing blocks the thread (about 10 ms for this much prose), and unpacking needs a bound. */
export const UNPACKED_MAX_BYTES = 262_144;

/** How far back deflate can refer. The base follows the dictionary, and must not push it out of the window. */
const WINDOW_BYTES = 32_768;

const dictionaries: { readonly [Number in Exclude<Packing, 0>]: Buffer } = { 1: Buffer.from(dictionary1) };

/** Longest base: bytes that both sides have beside the dictionary, such as earlier records. */
export const PACKING_BASE_MAX_BYTES = WINDOW_BYTES - 16_384;

/** The length of the ids in front of the deflated text. */
const IDS_LENGTH_BYTES = 2;

const NOTHING = new Uint8Array();

export interface Packed {
  readonly bytes: Uint8Array;
  readonly packing: Packing;
}

/** Packs the bytes. Returns them unpacked when they are too large or would not shrink. */
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
 * Unpacks. `base` must be the one they were packed with. Throws `CorruptError`: `packing-damaged`, when they can't be unpacked or would
 * become too large; `packing-unknown`, for a number that this version doesn't have. Damage that still unpacks is not detected: the storage
 * has a checksum for that.
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
