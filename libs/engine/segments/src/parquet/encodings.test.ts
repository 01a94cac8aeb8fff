/** Numbers come back from the encodings, by our readers and by an independent one. */

import fc from 'fast-check';
import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { describe, expect, it } from 'vitest';
import { ByteSink } from './byte-sink.ts';
import { DELTA_SPAN_MAX, readDelta, writeDelta } from './delta.ts';
import { readHybrid, widthOf, writeHybrid } from './hybrid.ts';
import { binary, flag, i32, i64, list, readStruct, struct } from './thrift.ts';

const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Runs and no runs, as columns have both. */
const runs = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc
    .array(fc.tuple(value, fc.oneof(fc.constant(1), fc.nat(40))), { minLength: 1, maxLength: 60 })
    .map((parts) => parts.flatMap(([each, count]) => Array<T>(count).fill(each)))
    .filter((all) => all.length > 0);

describe('the hybrid of runs and packed bits', () => {
  it('comes back', () => {
    const numbers = fc.nat(2 ** 20 - 1).chain((max) => fc.tuple(fc.constant(max), runs(fc.nat(max))));
    fc.assert(
      fc.property(numbers, ([max, all]) => {
        const width = widthOf(max);
        const sink = new ByteSink();
        writeHybrid(sink, Int32Array.from([7, ...all, 7]), 1, all.length + 1, width);
        const bytes = Buffer.from(sink.written());
        const ours = new Int32Array(all.length);
        readHybrid(bytes, 0, bytes.length, width, ours);
        expect([...ours]).toEqual(all);
        const theirs = new Int32Array(all.length);
        readRleBitPackedHybrid({ view: viewOf(bytes), offset: 0 }, width, theirs, bytes.length);
        expect([...theirs]).toEqual(all);
      }),
      { numRuns: 500 },
    );
  });
});

describe('packed differences', () => {
  it('come back', () => {
    const spans = fc.constantFrom(0, 1, 100, 2 ** 31, 2 ** 32, 2 ** 40, DELTA_SPAN_MAX);
    const numbers = fc
      .tuple(fc.nat(2 ** 52), spans)
      .chain(([least, span]) => runs(fc.nat(span).map((more) => least - 2 ** 51 + more)));
    fc.assert(
      fc.property(numbers, (all) => {
        const sink = new ByteSink();
        writeDelta(sink, Float64Array.from([...all, 5]), all.length);
        const bytes = Buffer.from(sink.written());
        expect([...readDelta(Buffer.concat([Buffer.from('xyz'), bytes]), 3, all.length)]).toEqual(all);
        const theirs = new BigInt64Array(all.length);
        deltaBinaryUnpack({ view: viewOf(bytes), offset: 0 }, all.length, theirs);
        expect([...theirs].map(Number)).toEqual(all);
      }),
      { numRuns: 500 },
    );
  });

  it('come back at the ends of what they span', () => {
    const all = [0, DELTA_SPAN_MAX, 0, DELTA_SPAN_MAX, 1, DELTA_SPAN_MAX - 1];
    const sink = new ByteSink();
    writeDelta(sink, Float64Array.from(all), all.length);
    expect([...readDelta(Buffer.from(sink.written()), 0, all.length)]).toEqual(all);
  });
});

describe("Thrift's compact protocol", () => {
  it('comes back', () => {
    const many = Array.from({ length: 40 }, (_, index) => i64(index * -1_000_003));
    const { bytes } = struct({ 1: i32(-7), 3: i64(2 ** 53 - 1), 9: binary('é'), 15: flag(true), 16: list(many) });
    const { members, end } = readStruct(Buffer.concat([Buffer.from('ab'), bytes]), 2);
    expect(end).toBe(2 + bytes.length);
    expect([...members.keys()]).toEqual([1, 3, 9, 15, 16]);
    expect(members.get(1)).toBe(-7);
    expect(members.get(3)).toBe(2 ** 53 - 1);
    expect(String(members.get(9))).toBe('é');
    expect(members.get(15)).toBe(true);
    expect(members.get(16)).toEqual(many.map((_, index) => index * -1_000_003 || 0));
  });

  it('ends on any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          readStruct(Buffer.from(bytes), 0);
        } catch (error) {
          expect(error).toMatchObject({ code: 'segment-damaged' });
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
