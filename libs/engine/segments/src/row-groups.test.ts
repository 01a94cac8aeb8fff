/**
 * Owns the tests of row groups: columns are read as they were written, and a page with false claims is refused before memory is allocated
 * for it.
 */

import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import type { PageHeader, RowGroup } from 'hyparquet';
import { ByteWriter } from 'hyparquet-writer';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import { describe, expect, it } from 'vitest';
import { readFooter } from './footer.ts';
import { RowGroupReader } from './row-group-reader.ts';
import { type Columns, emptyColumns, payloadPage, RowGroupWriter } from './row-group-writer.ts';
import { type ColumnName, segmentColumns } from './schema.ts';

const BUDGET_BYTES = 100_000;

describe('columns come back', () => {
  const lists = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[]> =>
    fc.array(fc.option(value, { freq: 3 }), { minLength: 1, maxLength: 300 });

  /** From a file of two row groups; the second has the values in reverse. */
  function expectBack<Value>(name: ColumnName, values: (Value | null)[], asRead: (value: Value) => unknown): void {
    const writer = new RowGroupWriter();
    const groups = [values, values.toReversed()];
    for (const group of groups) {
      const rows = group.map(() => null);
      const others = Object.fromEntries(Object.keys(emptyColumns()).map((column) => [column, rows]));
      const required = { partition: group.map(() => 1), log_offset: group.map(() => 1) };
      const columns = { ...others, ...required, [name]: group } as unknown as Columns;
      const page = payloadPage(columns);
      writer.add(columns, { page, packed: zstdCompressSync(page) });
    }
    const file = writer.finish([]);
    for (const [index, group] of readFooter(file).row_groups.entries()) {
      const cells = new RowGroupReader(file, group, { leftBytes: 10 * BUDGET_BYTES }).read(name);
      const read = cells.map((cell) => (cell instanceof Uint8Array ? Buffer.from(cell) : cell));
      expect(read).toEqual(groups[index]!.map((value) => (value === null ? null : asRead(value))));
    }
  }

  it('of whole numbers', () => {
    const numbers = fc.oneof(fc.nat(), fc.maxSafeInteger(), fc.constantFrom(0, 2 ** 31, 2 ** 53 - 1, -(2 ** 53 - 1)));
    fc.assert(fc.property(lists(numbers), (values) => expectBack('lamport', values, (value) => value)));
  });

  it('of other numbers', () => {
    const numbers = fc.double({ noNaN: true });
    fc.assert(fc.property(lists(numbers), (values) => expectBack('tokens', values, (value) => value)));
  });

  it('of names', () => {
    const names = fc.oneof(fc.constantFrom('', 'a', 'b'), fc.string({ unit: 'grapheme' }));
    fc.assert(
      fc.property(lists(names), (values) =>
        expectBack('holder', values, (value) => Buffer.from(value).toString('latin1')),
      ),
    );
  });

  it('of texts and bytes', () => {
    fc.assert(
      fc.property(lists(fc.string({ unit: 'grapheme' })), (values) =>
        expectBack('control', values, (value) => Buffer.from(value)),
      ),
    );
    fc.assert(
      fc.property(lists(fc.uint8Array()), (values) => expectBack('raw', values, (value) => Buffer.from(value))),
    );
  });
});

interface Forged {
  readonly name?: ColumnName;
  readonly head: Partial<PageHeader>;
  readonly packed: Uint8Array;
  readonly rowCount?: number;
  /** Bytes before the page, with which its header begins. */
  readonly lead?: number;
  /** Bytes of the chunk that the footer omits. */
  readonly missingBytes?: number;
}

/** Reads a column whose chunk is one page. */
function readForged({ name = 'raw', head, packed, rowCount = 1, missingBytes = 0, lead = 0 }: Forged): unknown {
  const sink = new ByteWriter();
  const sizes = { uncompressed_page_size: packed.length, compressed_page_size: packed.length };
  writePageHeader(sink, { type: 'DATA_PAGE_V2', ...sizes, ...head });
  const before = lead > 0 ? [0x08, 10, (lead & 0x7f) | 0x80, lead >> 7] : [];
  const file = Buffer.concat([Buffer.from(before), Buffer.alloc(lead), sink.getBytes(), packed]);
  const columns = segmentColumns.map((column) => ({
    meta_data: {
      ...{ type: column.physical, path_in_schema: [column.name], codec: 'ZSTD', data_page_offset: 0n },
      total_compressed_size: BigInt(file.length - missingBytes),
    },
  }));
  const group = { columns, num_rows: BigInt(rowCount) } as unknown as RowGroup;
  return new RowGroupReader(file, group, { leftBytes: BUDGET_BYTES }).read(name);
}

describe('a page is not believed', () => {
  const forged = (
    levels: readonly number[],
    packed: Uint8Array,
    unpackedBytes: number,
    about: Partial<NonNullable<PageHeader['data_page_header_v2']>>,
  ): Forged => ({
    head: {
      uncompressed_page_size: unpackedBytes,
      data_page_header_v2: {
        ...{ num_values: 1, num_nulls: 0, num_rows: 1, encoding: 'PLAIN' as const, repetition_levels_byte_length: 0 },
        ...{ definition_levels_byte_length: levels.length, ...about },
      },
    },
    packed: Buffer.concat([Buffer.from(levels), packed]),
  });
  const ZEROS = Buffer.alloc(90_000);
  const ALL_BYTES = 2 + ZEROS.length;
  /** Its levels describe one row without a value. */
  const pageOf = (packed: Uint8Array, unpackedBytes: number, count = 1): Forged =>
    forged([2, 0], packed, unpackedBytes, { num_values: count });
  const withValue = (values: Uint8Array, encoding: 'RLE_DICTIONARY' | 'DELTA_BINARY_PACKED', more = {}): Forged =>
    forged([2, 1], zstdCompressSync(values), 2 + values.length, { encoding, ...more });
  const ONE_NUMBER = Buffer.from([128, 1, 4, 1, 14]);

  it('the control', () => {
    expect(readForged(pageOf(zstdCompressSync(ZEROS), ALL_BYTES))).toEqual([null]);
    expect(readForged({ ...withValue(ONE_NUMBER, 'DELTA_BINARY_PACKED'), name: 'lamport' })).toEqual([7]);
    expect(readForged(pageOf(farBack(23), ALL_BYTES))).toEqual([null]);
  });

  it.each<readonly [string, Forged, string]>([
    ['that holds less than it says', pageOf(zstdCompressSync(ZEROS.subarray(0, 9)), 90_000), 'another length'],
    ['that holds more than it says', pageOf(zstdCompressSync(ZEROS), 9), 'unpack'],
    ['that cannot hold what it says', pageOf(Buffer.alloc(0), 90_000), 'unpacks to less'],
    ['that holds more than a segment may', pageOf(zstdCompressSync(ZEROS), BUDGET_BYTES + 1), 'more than a segment'],
    ['that says 2 GiB', pageOf(zstdCompressSync(ZEROS), 2 ** 31 - 1), 'more than a segment'],
    ['that says less than nothing', pageOf(zstdCompressSync(ZEROS), -1), 'is not a count'],
    ['whose header does not end', { ...pageOf(zstdCompressSync(ZEROS), ALL_BYTES), lead: 1_100 }, 'ends too early'],
    ['of more rows than there are', pageOf(zstdCompressSync(ZEROS), ALL_BYTES, 2), 'other rows'],
    ['of no rows', pageOf(zstdCompressSync(ZEROS), ALL_BYTES, 0), 'other rows'],
    ['of fewer rows than there are', { ...pageOf(zstdCompressSync(ZEROS), ALL_BYTES), rowCount: 2 }, 'lacks rows'],
    ['that looks back further than we do', pageOf(farBack(26), ALL_BYTES), 'can not be unpacked'],
    ['that is longer than its chunk', { ...pageOf(zstdCompressSync(ZEROS), ALL_BYTES), missingBytes: 1 }, 'too late'],
    [
      'with names that are in no dictionary',
      { ...withValue(Buffer.from([1, 2, 1]), 'RLE_DICTIONARY'), name: 'holder' },
      'in its',
    ],
    [
      'with names of 32 bits',
      { ...withValue(Buffer.from([32, 2, 1, 1, 1, 1]), 'RLE_DICTIONARY'), name: 'holder' },
      '32 bits',
    ],
    ['with texts as differences', withValue(ONE_NUMBER, 'DELTA_BINARY_PACKED'), 'no numbers'],
    [
      'with more numbers than rows',
      { ...withValue(Buffer.from([128, 1, 4, 2, 14]), 'DELTA_BINARY_PACKED'), name: 'lamport' },
      'another way',
    ],
    [
      'with levels that are longer than itself',
      withValue(ONE_NUMBER, 'DELTA_BINARY_PACKED', { definition_levels_byte_length: 2_000 }),
      'other levels',
    ],
  ])('%s', (_, page, problem) => {
    expect(() => readForged(page)).toThrow(problem);
    expect(() => readForged(page)).toThrow(expect.objectContaining({ code: 'segment-damaged' }));
  });

  it('with a run that is longer than its rows', () => {
    // Levels that claim 2^24 rows.
    const long = forged([254, 255, 255, 31, 0], zstdCompressSync(Buffer.alloc(10)), 15, {});
    expect(() => readForged(long)).toThrow('other runs than rows');
  });

  /** A frame with a window of this size: 90,000 zeros, as one block. */
  function farBack(windowLog: number): Buffer {
    const head = [0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3];
    const block = Buffer.alloc(4);
    block.writeUIntLE((90_000 << 3) | 0b011, 0, 3);
    return Buffer.concat([Buffer.from(head), block]);
  }
});
