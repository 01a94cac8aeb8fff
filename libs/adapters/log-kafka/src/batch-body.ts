/**
 * Owns unpacking the records of a compressed batch, within a bound. Whoever may write to the topic chooses how a batch is compressed, and a
 * kilobyte of zstd unpacks to tens of megabytes. Must not do I/O.
 */

import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { compressionsAlgorithmsByBitmask } from '@platformatic/kafka';
import { CorruptError } from '@tidemark/core';
import { BATCH_UNPACKED_MAX_BYTES } from './limits.ts';

const [NONE, GZIP, SNAPPY, LZ4, ZSTD] = [0, 1, 2, 3, 4];

/** Undefined: it unpacks to more than `BATCH_UNPACKED_MAX_BYTES`. Throws `CorruptError` (`log-damaged`). */
export function unpackedBody(body: Buffer, algorithm: number): Buffer | undefined {
  if (algorithm === NONE) return body;
  const bound = { maxOutputLength: BATCH_UNPACKED_MAX_BYTES };
  try {
    if (algorithm === GZIP) return gunzipSync(body, bound);
    if (algorithm === ZSTD) return zstdDecompressSync(body, bound);
    const known = compressionsAlgorithmsByBitmask[algorithm];
    if (known === undefined) throw new CorruptError('log-damaged', `Unknown compression ${algorithm} of a batch.`);
    // These take no bound, so what they may unpack to is read from their heads.
    if (algorithm === SNAPPY && snappyBytes(body) > BATCH_UNPACKED_MAX_BYTES) return undefined;
    if (algorithm === LZ4 && lz4Bytes(body) > BATCH_UNPACKED_MAX_BYTES) return undefined;
    return known.decompressSync(body);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    if (error instanceof CorruptError) throw error;
    throw new CorruptError('log-damaged', `A batch can't be unpacked: ${(error as Error).message}.`, { cause: error });
  }
}

const XERIAL_MAGIC = Buffer.from('\x82SNAPPY\0', 'latin1');
const XERIAL_HEAD_BYTES = 16;

/** The length that it claims, which is allocated at once; of the framed form, all lengths. */
function snappyBytes(body: Buffer): number {
  if (!body.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return snappyLength(body, 0);
  let total = 0;
  for (let at = XERIAL_HEAD_BYTES; at + 4 <= body.length; at += 4 + body.readUInt32BE(at)) {
    total += snappyLength(body, at + 4);
  }
  return total;
}

function snappyLength(body: Buffer, from: number): number {
  let length = 0;
  for (let index = 0; index < 5; index++) {
    const byte = body[from + index] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return length;
  }
  return Number.POSITIVE_INFINITY;
}

const LZ4_MAGIC = 0x184d2204;
/** Its place in a frame's head, with the flags before it; the descriptor's shortest length. */
const LZ4_HEAD_BYTES = 7;

/** The most that its blocks may hold. */
function lz4Bytes(body: Buffer): number {
  let total = 0;
  for (let at = 0; at + LZ4_HEAD_BYTES <= body.length; ) {
    if (body.readUInt32LE(at) !== LZ4_MAGIC) return Number.POSITIVE_INFINITY;
    const flags = body[at + 4]!;
    const blockMaxBytes = 2 ** (8 + 2 * ((body[at + 5]! >> 4) & 7));
    at += LZ4_HEAD_BYTES + ((flags & 0b1000) !== 0 ? 8 : 0) + ((flags & 1) !== 0 ? 4 : 0);
    for (;;) {
      if (at + 4 > body.length) return total;
      const size = body.readUInt32LE(at);
      at += 4;
      if (size === 0) break;
      const bytes = size % 2 ** 31;
      total += size === bytes ? blockMaxBytes : bytes;
      at += bytes + ((flags & 0b10000) !== 0 ? 4 : 0);
    }
    at += (flags & 0b100) !== 0 ? 4 : 0;
  }
  return total;
}
