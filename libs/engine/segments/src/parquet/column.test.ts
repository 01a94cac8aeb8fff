/** Columns come back from their chunks; a page that claims what it does not hold is found before memory is taken for it. */

import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packPages, writeChunk } from './chunk-writer.ts';
import { type ChunkSource, readNames, readNumbers, readTexts } from './column-reader.ts';
import { type ColumnWriter, NameWriter, NumberWriter, TextWriter } from './column-writer.ts';
import { type Column, codecs, encodings, pageTypes } from './format.ts';
import { i32, struct } from './thrift.ts';

const BUDGET_BYTES = 100_000;
const TEXT: Column = { name: 'c', kind: 'text', physical: 'BYTE_ARRAY', isRequired: false };
const NUMBER: Column = { name: 'c', kind: 'number', physical: 'INT64', isRequired: false };
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const at = 7;

function sourceOf<Value>(column: Column, writer: ColumnWriter<Value>, values: readonly (Value | null)[]): ChunkSource {
  for (const value of values) writer.add(value);
  const body = writer.finish();
  const chunk = writeChunk(column, body, packPages(body, { level: 1 }));
  const file = Buffer.concat([Buffer.alloc(at), ...chunk.bytes, Buffer.from('more')]);
  // As the footer says it: small chunks are not compressed.
  const codec = file.includes(ZSTD_MAGIC) ? codecs.ZSTD : codecs.UNCOMPRESSED;
  const place = { at, sizeBytes: chunk.sizeBytes, codec };
  return { file, place, column, rowCount: values.length, budget: { leftBytes: 10 * BUDGET_BYTES } };
}

describe('columns come back', () => {
  const lists = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[]> =>
    fc.array(fc.option(value, { freq: 3 }), { minLength: 40, maxLength: 300 });

  it('of numbers', () => {
    const numbers = fc.oneof(fc.nat(), fc.maxSafeInteger());
    fc.assert(
      fc.property(lists(numbers), (values) => {
        const source = sourceOf(NUMBER, new NumberWriter(NUMBER, values.length), values);
        const read = [...readNumbers(source)].map((value) => (Number.isNaN(value) ? null : value));
        expect(read).toEqual(values);
      }),
    );
  });

  it('of names', () => {
    fc.assert(
      fc.property(lists(fc.oneof(fc.constantFrom('', 'a', 'b'), fc.string())), (texts) => {
        const values = texts.map((text) => (text === null ? null : Buffer.from(text).toString('latin1')));
        const { entries, indexes } = readNames(sourceOf(TEXT, new NameWriter(TEXT, values.length), values));
        expect([...indexes].map((index) => (index < 0 ? null : entries[index]))).toEqual(values);
      }),
    );
  });

  it('of texts', () => {
    fc.assert(
      fc.property(lists(fc.uint8Array()), (values) => {
        const source = sourceOf<string | Uint8Array>(TEXT, new TextWriter(TEXT, values.length), values);
        const { bytes, starts, lengths } = readTexts(source);
        const read = values.map((_, row) =>
          lengths[row]! < 0 ? null : new Uint8Array(bytes.subarray(starts[row]!, starts[row]! + lengths[row]!)),
        );
        expect(read).toEqual(values);
      }),
    );
  });
});

describe('a page is not believed', () => {
  /** A page of no rows' levels and whatever bytes. */
  function pageOf(bytes: Uint8Array, unpackedBytes: number, count = 1): ChunkSource {
    const levels = i32(encodings.RLE);
    const head = struct({
      1: i32(pageTypes.DATA),
      2: i32(unpackedBytes),
      3: i32(bytes.length),
      5: struct({ 1: i32(count), 2: i32(encodings.PLAIN), 3: levels, 4: levels }),
    }).bytes;
    const file = Buffer.concat([head, bytes]);
    const place = { at: 0, sizeBytes: file.length, codec: codecs.ZSTD };
    return { file, place, column: TEXT, rowCount: 1, budget: { leftBytes: BUDGET_BYTES } };
  }
  /** Levels that say one row without a value. */
  const body = Buffer.concat([Buffer.from([2, 0, 0, 0, 2, 0]), Buffer.alloc(90_000)]);

  it('the control', () => {
    expect([...readTexts(pageOf(zstdCompressSync(body), body.length)).lengths]).toEqual([-1]);
    // Zeros say too little, but can be unpacked.
    expect(() => readTexts(pageOf(farBack(23), 90_000))).toThrow('numbers end too early');
  });

  it.each([
    ['that holds less than it says', pageOf(zstdCompressSync(body.subarray(0, 9)), 90_000), 'another length'],
    ['that holds more than it says', pageOf(zstdCompressSync(body), 9), 'unpack'],
    ['that cannot hold what it says', pageOf(Buffer.alloc(0), 90_000), 'unpacks to less'],
    ['that holds more than a segment may', pageOf(zstdCompressSync(body), BUDGET_BYTES + 1), 'more than a segment'],
    ['that says 2 GiB', pageOf(zstdCompressSync(body), 2 ** 31 - 1), 'more than a segment'],
    ['of more rows than there are', pageOf(zstdCompressSync(body), body.length, 2), 'too many rows'],
    ['of no rows', pageOf(zstdCompressSync(body), body.length, 0), 'lacks rows'],
    ['that looks back further than we do', pageOf(farBack(26), 90_000), 'can not be unpacked'],
    ['that is longer than its chunk', shortened(), 'ends too late'],
  ])('%s', (_, source, problem) => {
    expect(() => readTexts(source)).toThrow(problem);
    expect(() => readTexts(source)).toThrow(expect.objectContaining({ code: 'segment-damaged' }));
  });

  function shortened(): ChunkSource {
    const source = pageOf(zstdCompressSync(body), body.length);
    return { ...source, place: { ...source.place, sizeBytes: source.place.sizeBytes - 1 } };
  }

  /** A frame whose reader has to keep so much to look back on: 90,000 zeros, as one block. */
  function farBack(windowLog: number): Buffer {
    const head = [...ZSTD_MAGIC, 0, (windowLog - 10) << 3];
    const block = Buffer.alloc(4);
    block.writeUIntLE((90_000 << 3) | 0b011, 0, 3);
    return Buffer.concat([Buffer.from(head), block]);
  }
});
