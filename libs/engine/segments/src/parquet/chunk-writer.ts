/**
 * Owns a column's bytes in the file: its pages, compressed, each behind its head, and what the footer says of them. The same column gives
 * the same bytes.
 */

import { promisify } from 'node:util';
import { constants, type ZstdOptions, zstdCompress, zstdCompressSync } from 'node:zlib';
import { COMPRESS_MIN_BYTES, ZSTD_WINDOW_LOG } from '../limits.ts';
import type { ColumnBody, PageBody } from './column-writer.ts';
import { type Column, codecs, encodings, pageTypes, physicalTypes } from './format.ts';
import { binary, i32, i64, list, struct, type Thrift } from './thrift.ts';

export interface Chunk {
  readonly bytes: readonly Uint8Array[];
  readonly sizeBytes: number;
  readonly unpackedBytes: number;
  /** The column chunk of the footer, where the chunk begins at this byte of the file. */
  describe(at: number): Thrift;
}

/** How hard zstd looks for repetition. */
export interface Effort {
  readonly level: number;
  /** Shorter ones are no repetition; absent: as the level has it. */
  readonly matchMinBytes?: number;
}

/** The pages of a column as they stand in the file, in their order; compressed unless that isn't worth it. Holds the thread. */
export function packPages(body: ColumnBody, effort: Effort): readonly Buffer[] {
  const pages = pagesOf(body).map((page) => page.body);
  return isTiny(body) ? pages : pages.map((page) => zstdCompressSync(page, optionsOf(page, effort)));
}

/** The same bytes, made on threads of libuv. */
export async function packPagesAside(body: ColumnBody, effort: Effort): Promise<readonly Buffer[]> {
  const pages = pagesOf(body).map((page) => page.body);
  return isTiny(body) ? pages : Promise.all(pages.map((page) => compressAside(page, optionsOf(page, effort))));
}

/** `packed`: the body's pages, as `packPages` gives them. */
export function writeChunk(column: Column, body: ColumnBody, packed: readonly Buffer[]): Chunk {
  const codec = isTiny(body) ? codecs.UNCOMPRESSED : codecs.ZSTD;
  const bytes: Uint8Array[] = [];
  let sizeBytes = 0;
  let unpackedBytes = 0;
  let dictionaryBytes = 0;
  for (const [index, page] of pagesOf(body).entries()) {
    const head = pageHead(page, packed[index]!.length, page === body.dictionary ? undefined : body.encoding);
    bytes.push(head, packed[index]!);
    sizeBytes += head.length + packed[index]!.length;
    unpackedBytes += head.length + page.body.length;
    if (page === body.dictionary) dictionaryBytes = sizeBytes;
  }
  const describe = (at: number): Thrift =>
    struct({
      2: i64(at),
      3: struct({
        1: i32(physicalTypes[column.physical]),
        2: list([...new Set([body.encoding, encodings.RLE, encodings.PLAIN])].map(i32)),
        3: list([binary(column.name)]),
        4: i32(codec),
        5: i64(body.pages.reduce((sum, { count }) => sum + count, 0)),
        6: i64(unpackedBytes),
        7: i64(sizeBytes),
        9: i64(at + dictionaryBytes),
        11: body.dictionary && i64(at),
        12: struct({
          3: i64(body.nullCount),
          5: body.bounds && binary(body.bounds.max),
          6: body.bounds && binary(body.bounds.min),
        }),
      }),
    });
  return { bytes, sizeBytes, unpackedBytes, describe };
}

/** Of a page of data in this encoding; without one, of a dictionary. */
function pageHead({ count, body }: PageBody, packedBytes: number, encoding: number | undefined): Uint8Array {
  const isData = encoding !== undefined;
  const levels = i32(encodings.RLE);
  const { bytes } = struct({
    1: i32(isData ? pageTypes.DATA : pageTypes.DICTIONARY),
    2: i32(body.length),
    3: i32(packedBytes),
    5: isData ? struct({ 1: i32(count), 2: i32(encoding), 3: levels, 4: levels }) : undefined,
    7: isData ? undefined : struct({ 1: i32(count), 2: i32(encodings.PLAIN) }),
  });
  return bytes;
}

const pagesOf = ({ dictionary, pages }: ColumnBody): readonly PageBody[] =>
  dictionary === undefined ? pages : [dictionary, ...pages];

const isTiny = (body: ColumnBody): boolean =>
  pagesOf(body).reduce((sum, page) => sum + page.body.length, 0) < COMPRESS_MIN_BYTES;

const compressAside = promisify<Buffer, ZstdOptions, Buffer>(zstdCompress);

const optionsOf = (bytes: Buffer, { level, matchMinBytes }: Effort): ZstdOptions => ({
  chunkSize: Math.max(MIN_CHUNK_BYTES, bytes.length >> 1),
  pledgedSrcSize: bytes.length,
  params: {
    [constants.ZSTD_c_compressionLevel]: level,
    ...(matchMinBytes !== undefined && { [constants.ZSTD_c_minMatch]: matchMinBytes }),
    [constants.ZSTD_c_windowLog]: ZSTD_WINDOW_LOG,
  },
});

/** What zlib takes memory for at a time, at least. */
const MIN_CHUNK_BYTES = 1024;
