/** Owns the tests of record batches: round trips, reading each other's batches with other clients, damage. */

import { crc32c, createRecordsBatch, Reader, readRecordsBatch, Writer } from '@platformatic/kafka';
import type { LogRecord } from '@tidemark/ports';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeChanges, putRecord } from './key-records.ts';
import { BATCH_UNPACKED_MAX_BYTES } from './limits.ts';
import { take, type Wanted } from './reader.ts';
import {
  BATCH_OVERHEAD_BYTES,
  decodeBatches,
  groupBytes,
  PREFIX_BYTES,
  READ_MAX_RECORDS,
  type RecordSink,
  readInt64,
  recordOverheadBytes,
  writeGroup,
  writeInt64,
} from './record-batch.ts';

const records: fc.Arbitrary<LogRecord[]> = fc.array(
  fc.record(
    {
      value: fc.uint8Array({ maxLength: 300 }),
      type: fc.string({ unit: 'grapheme', maxLength: 20 }),
      trace: fc.string(),
    },
    { requiredKeys: ['value', 'type'] },
  ),
  { minLength: 1, maxLength: 200 },
);

function encodeBatch(number: number, given: readonly LogRecord[], timestampMs: number): Buffer {
  const group = { partition: number, records: given, timestampMs };
  const bytes = groupBytes(group);
  // At a place of its own in a larger buffer, as in a request.
  const out = Buffer.alloc(bytes + 20, 0xee);
  writeGroup(out, 10, bytes, group);
  expect([...out.subarray(0, 10), ...out.subarray(10 + bytes)].every((byte) => byte === 0xee)).toBe(true);
  return out.subarray(10, 10 + bytes);
}

const bare = (batch: Buffer): Buffer => batch.subarray(PREFIX_BYTES);

function decode(bytes: Buffer, from = 0, maxBytes = Number.POSITIVE_INFINITY) {
  const sink: RecordSink = { records: [], leftBytes: maxBytes };
  decodeBatches(bytes, from, sink);
  return sink.records.map(({ offset, value }) => [offset as number, Buffer.from(value).toString('hex')]);
}

/** As the broker stores it: with the offset of its first record. */
const at = (base: number, batch: Buffer): Buffer => stored(bare(batch), base);

function stored(batch: Buffer, base: number): Buffer {
  const bytes = Buffer.from(batch);
  writeInt64(bytes, base, 0);
  return bytes;
}

const simple = (count: number, from = 0): LogRecord[] =>
  Array.from({ length: count }, (_, index) => ({ value: Buffer.from(`record ${from + index}`), type: 'T' }));
const hex = (index: number): [number, string] => [index, Buffer.from(`record ${index}`).toString('hex')];

describe('encoding', () => {
  test('what is encoded is decoded', () => {
    fc.assert(
      fc.property(records, fc.nat(2 ** 40), (given, base) => {
        const stored = at(base, encodeBatch(3, given, 1_700_000_000_000));
        const expected = given.map(({ value }, index) => [base + index, Buffer.from(value).toString('hex')]);
        expect(decode(stored, base)).toEqual(expected);
      }),
    );
  });

  test('the same records give the same bytes', () => {
    expect(encodeBatch(1, simple(5), 7)).toEqual(encodeBatch(1, simple(5), 7));
  });

  test('another client reads values, types and traces', () => {
    fc.assert(
      fc.property(records, (given) => {
        const timestampMs = 1_700_000_000_123;
        const read = readRecordsBatch(Reader.from(bare(encodeBatch(0, given, timestampMs))));
        expect(read.firstTimestamp).toBe(BigInt(timestampMs));
        expect(read.producerId).toBe(-1n);
        expect(read.records.map(({ value }) => Buffer.from(value ?? []))).toEqual(
          given.map(({ value }) => Buffer.from(value)),
        );
        const headers = read.records.map((record) =>
          Object.fromEntries(
            Array.from(record.headers as Iterable<[unknown, unknown]>, ([key, value]) => [String(key), String(value)]),
          ),
        );
        expect(headers).toEqual(
          given.map(({ type, trace }) => (trace === undefined ? { type } : { type, traceparent: trace })),
        );
      }),
    );
  });

  test('no batch is larger than the bound that limits are checked with', () => {
    fc.assert(
      fc.property(records, (given) => {
        const bound = given.reduce((sum, record) => sum + record.value.length + recordOverheadBytes(record), 0);
        expect(encodeBatch(0, given, 0).length).toBeLessThanOrEqual(bound + BATCH_OVERHEAD_BYTES);
      }),
    );
  });

  test('numbers of 64 bits', () => {
    const bytes = Buffer.alloc(8);
    for (const value of [0, 1, -1, -2, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 1_700_000_000_000, -(2 ** 40)]) {
      writeInt64(bytes, value, 0);
      expect([readInt64(bytes, 0), bytes.readBigInt64BE(0)]).toEqual([value, BigInt(value)]);
    }
  });
});

describe('decoding', () => {
  const three = Buffer.concat([
    at(10, encodeBatch(0, simple(3, 10), 0)),
    at(13, encodeBatch(0, simple(1, 13), 0)),
    at(14, encodeBatch(0, simple(4, 14), 0)),
  ]);

  test('begins at the offset asked for, also inside a batch', () => {
    expect(decode(three, 12)).toEqual([12, 13, 14, 15, 16, 17].map(hex));
    expect(decode(three, 13)).toEqual([13, 14, 15, 16, 17].map(hex));
  });

  test('stops at the budget, after at least one record', () => {
    expect(decode(three, 10, 0)).toEqual([hex(10)]);
    expect(decode(three, 10, 3 * 'record 10'.length)).toEqual([10, 11, 12].map(hex));
  });

  test('leaves a batch that was cut short', () => {
    for (let length = 0; length < three.length; length++) {
      const whole = decode(three.subarray(0, length), 10);
      expect([0, 3, 4]).toContain(whole.length);
    }
  });

  test('finds any changed byte after the checksum', () => {
    const batch = at(0, encodeBatch(0, simple(3), 0));
    for (let place = 21; place < batch.length; place++) {
      const damaged = Buffer.from(batch);
      damaged[place]! ^= 0x40;
      expect(() => decode(damaged)).toThrow(expect.objectContaining({ code: 'log-damaged' }));
    }
  });

  test('another format is not taken for records', () => {
    const batch = at(0, encodeBatch(0, simple(1), 0));
    batch[16] = 1;
    expect(() => decode(batch)).toThrow(expect.objectContaining({ code: 'log-damaged' }));
  });

  test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('reads batches compressed with %s', (compression) => {
    const messages = simple(20).map(({ value }) => ({
      topic: 't',
      value: Buffer.from(value),
      key: Buffer.from('key'),
    }));
    const batch = createRecordsBatch(messages as never, { compression }) as unknown as Writer;
    expect(decode(batch.buffer)).toEqual(Array.from({ length: 20 }, (_, index) => hex(index)));
  });

  test.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)(
    'a bomb of %s is not unpacked: its records come out empty',
    (compression) => {
      const bomb = { topic: 't', value: Buffer.alloc(BATCH_UNPACKED_MAX_BYTES) };
      const batch = createRecordsBatch([bomb, { topic: 't', value: Buffer.from('b') }] as never, { compression });
      const bytes = (batch as unknown as Writer).buffer;
      expect(bytes.length).toBeLessThan(1_000_000);
      expect(decode(bytes)).toEqual([
        [0, ''],
        [1, ''],
      ]);
      expect(decode(bytes, 1)).toEqual([[1, '']]);
    },
  );

  test('what a batch unpacks to counts, whatever its values are, and no more of it is kept than they are', () => {
    const foreign = { topic: 't', key: Buffer.alloc(BATCH_UNPACKED_MAX_BYTES - 1_000), value: Buffer.from('v') };
    const one = (createRecordsBatch([foreign] as never, { compression: 'zstd' }) as unknown as Writer).buffer;
    const three = Buffer.concat([0, 1, 2].map((base) => stored(one, base)));
    const budget = { leftBytes: 1_000 };
    const read = (partition: number, from: number) => {
      const want: Wanted = { partition, from, to: undefined, records: [], end: from };
      expect(take(want, { partition, errorCode: 0, highWatermark: 3, records: three }, budget)).toBe(true);
      return want;
    };
    const { records } = read(0, 0);
    expect(records.map(({ offset, value }) => [offset, String(value)])).toEqual([[0, 'v']]);
    expect(records[0]!.value.buffer.byteLength).toBeLessThan(BATCH_UNPACKED_MAX_BYTES / 2);
    expect(budget.leftBytes).toBeLessThan(2_100 - BATCH_UNPACKED_MAX_BYTES);
    // The others get their record, until the read has used up a whole batch more than it may: then they come first another time.
    expect(read(1, 1).records).toHaveLength(1);
    expect(read(2, 1)).toMatchObject({ records: [], end: 3 });
    budget.leftBytes = 1;
    expect(read(2, 1).records).toMatchObject([{ offset: 1 }]);
    const bomb = createRecordsBatch([{ topic: 't', value: Buffer.alloc(BATCH_UNPACKED_MAX_BYTES) }] as never, {
      compression: 'zstd',
    }) as unknown as Writer;
    const sink: RecordSink = { records: [], leftBytes: 1_000 };
    decodeBatches(Buffer.concat([0, 1].map((base) => stored(bomb.buffer, base))), 0, sink);
    expect(sink).toMatchObject({ records: [{ offset: 0 }], leftBytes: 1_000 - BATCH_UNPACKED_MAX_BYTES });
  });

  test.each([1, 2, 4, 5])('a body that compression %i did not write is damage', (algorithm) => {
    const batch = stored(bare(encodeBatch(0, simple(3), 0)), 0);
    batch.writeInt16BE(algorithm, 21);
    batch.writeUInt32BE(crc32c(Writer.create().append(batch.subarray(21)).dynamicBuffer), 17);
    expect(() => decode(batch)).toThrow(expect.objectContaining({ code: 'log-damaged' }));
  });

  test('a compressed batch of keys is read, and a bomb of them stops the reader', () => {
    const key = { id: 'k', tenant: 't', workflow: 'w', user: null, provider: 'p', wrappedBy: 'x', wrapped: 'y' };
    const batchOf = (value: Buffer) =>
      createRecordsBatch([{ topic: 't', key: Buffer.from('k'), value }] as never, { compression: 'zstd' }) as never;
    const { value } = putRecord(key as never);
    const { buffer } = batchOf(Buffer.from(value)) as Writer;
    expect(decodeChanges(buffer, 0).changes).toEqual([{ kind: 'put', key }]);
    const bomb = (batchOf(Buffer.alloc(BATCH_UNPACKED_MAX_BYTES)) as Writer).buffer;
    expect(() => decodeChanges(bomb, 0)).toThrow(expect.objectContaining({ code: 'log-damaged' }));
    const large = createRecordsBatch(
      [{ topic: 't', key: Buffer.alloc(BATCH_UNPACKED_MAX_BYTES - 100, 'k'), value: null }] as never,
      { compression: 'zstd' },
    ) as unknown as Writer;
    const pages = Buffer.concat([0, 1, 2].map((base) => stored(large.buffer, base)));
    expect(decodeChanges(pages, 0)).toMatchObject({ changes: [{ kind: 'destroyed' }, { kind: 'destroyed' }], next: 2 });
  });

  test('of records without bytes, no read takes more than so many', () => {
    const many = at(0, encodeBatch(0, Array(READ_MAX_RECORDS + 1).fill({ value: new Uint8Array(0), type: 'T' }), 1));
    expect(decode(many)).toHaveLength(READ_MAX_RECORDS);
    expect(decode(many, READ_MAX_RECORDS)).toEqual([[READ_MAX_RECORDS, '']]);
  });

  test('records without a value come out empty, and keep their place', () => {
    const messages = [{ topic: 't' }, { topic: 't', value: Buffer.from('b') }];
    const batch = createRecordsBatch(messages as never, {}) as unknown as Writer;
    expect(decode(batch.buffer)).toEqual([
      [0, ''],
      [1, '62'],
    ]);
  });
});
