/**
 * Owns zstd for small values, of which there is one for each event. Node's calls make a stream each time, which takes three times as long
 * as packing a kilobyte (16 µs, where this takes 4, and 10 and 3 for unpacking): here one stream for each direction is used again. Node
 * has no documented way to do so: `_processChunk` "is left for backwards compatibility" and would end the stream, which is kept from it.
 * Must not depend on that: where a stream is not as it is known, or anything goes wrong, the documented calls do the work. What is packed
 * is the same to any zstd. Must not know what is packed.
 */

import {
  constants,
  createZstdCompress,
  createZstdDecompress,
  type ZstdCompress,
  type ZstdDecompress,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { UNSEALED_MAX_BYTES } from './limits.ts';

/** The quickest level: a record waits for it. */
const LEVEL = 1;
/** Larger ones have a stream of their own: what is kept for this size takes some 100 KB. */
const SMALL_MAX_BYTES = 16_384;
const SMALL_WINDOW_LOG = 14;
/** As zstd itself chooses where it knows that little comes. */
const SMALL_MATCH_BYTES = 5;
/** Of Node's buffers for what comes out: of 16 KB, as it has them by itself, one is made for each call. */
const PIECE_BYTES = 4_096;

const PACKING = { [constants.ZSTD_c_compressionLevel]: LEVEL };
const SMALL_PACKING = {
  ...PACKING,
  [constants.ZSTD_c_windowLog]: SMALL_WINDOW_LOG,
  [constants.ZSTD_c_minMatch]: SMALL_MATCH_BYTES,
};

/** The bytes packed. What is returned holds until the next call: whoever keeps it, copies it. */
export function packed(bytes: Uint8Array): Uint8Array {
  const small = bytes.length <= SMALL_MAX_BYTES ? packSmall?.(bytes) : undefined;
  return small ?? packedAlone(bytes);
}

/** The bytes that were packed, to be copied as well. Throws as `zstdDecompressSync` does, above `UNSEALED_MAX_BYTES` too. */
export function unpacked(bytes: Uint8Array): Buffer {
  const small = bytes.length <= SMALL_MAX_BYTES ? unpackSmall?.(bytes) : undefined;
  return small ?? unpackedAlone(bytes);
}

/** Told the size, zstd makes its tables and Node its buffers as small. */
const packedAlone = (bytes: Uint8Array): Buffer =>
  zstdCompressSync(bytes, { params: PACKING, pledgedSrcSize: bytes.length, chunkSize: Math.max(bytes.length, 64) });

const unpackedAlone = (bytes: Uint8Array): Buffer =>
  zstdDecompressSync(bytes, { maxOutputLength: UNSEALED_MAX_BYTES, chunkSize: PIECE_BYTES });

/** What is used of a stream, and is not documented. */
interface Inside {
  _handle: { close(): void } | null;
  _processChunk(bytes: Uint8Array, flush: number): Buffer;
  removeAllListeners(event: 'error'): void;
}

/** Undefined: it can't be done in this way. */
export type Again = (bytes: Uint8Array) => Buffer | undefined;

/** With one stream for many calls; another is made after a failure, which leaves one in any state. */
export function usedAgain(make: () => ZstdCompress | ZstdDecompress): Again {
  let stream: Inside | undefined;
  let handle: Inside['_handle'] = null;
  return (bytes) => {
    // Between two values nothing is no error to a stream, as it is to the documented calls.
    if (bytes.length === 0) return undefined;
    try {
      if (stream === undefined) {
        stream = make() as unknown as Inside;
        handle = stream._handle;
        // Whatever is done in one go ends the stream by this.
        handle!.close = () => {};
      }
      stream._handle = handle;
      const done = stream._processChunk(bytes, constants.ZSTD_e_end);
      // Each call leaves one.
      stream.removeAllListeners('error');
      return done;
    } catch {
      stream = undefined;
      return undefined;
    }
  };
}

/** Undefined: it does not do what the documented call does, with this Node. */
export function proven(again: Again, given: Uint8Array, opened: (done: Uint8Array) => Uint8Array): Again | undefined {
  // Twice: the stream must be the same as before when it has done its work.
  const isSame = [given, given].every((bytes) => {
    const done = again(bytes);
    return done !== undefined && Buffer.compare(opened(done), SAMPLE) === 0;
  });
  return isSame ? again : undefined;
}

const SAMPLE = Buffer.from(JSON.stringify({ said: 'What is packed is what is unpacked. '.repeat(20) }));

const packSmall = proven(
  usedAgain(() => createZstdCompress({ params: SMALL_PACKING, chunkSize: PIECE_BYTES })),
  SAMPLE,
  unpackedAlone,
);
const unpackSmall = proven(
  usedAgain(() => createZstdDecompress({ maxOutputLength: UNSEALED_MAX_BYTES, chunkSize: PIECE_BYTES })),
  packedAlone(SAMPLE),
  (done) => done,
);
