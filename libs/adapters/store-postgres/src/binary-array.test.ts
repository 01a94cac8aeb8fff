import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bools, float8s, int4s, int8s, texts } from './binary-array.ts';

/** Parses an array as Postgres does (array_recv): the elements' bytes, or null. */
function elements(array: Buffer): (Buffer | null)[] {
  const count = array.readInt32BE(12);
  const found: (Buffer | null)[] = [];
  let at = 20;
  for (let n = 0; n < count; n += 1) {
    const length = array.readInt32BE(at);
    at += 4;
    found.push(length < 0 ? null : array.subarray(at, at + Math.max(length, 0)));
    at += Math.max(length, 0);
  }
  expect(at).toBe(array.length);
  return found;
}

const self = <T>(value: T): T => value;

describe('binary arrays', () => {
  test('texts, with nulls and any characters but NUL', () => {
    const values = fc.array(fc.option(fc.string({ unit: 'binary' })));
    fc.assert(
      fc.property(values, (given) => {
        const back = elements(texts(given, self)).map((bytes) => bytes?.toString() ?? null);
        expect(back).toEqual(given.map((value) => value?.replaceAll('\0', '\ufffd') ?? null));
      }),
    );
  });

  test('safe integers, with nulls', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.maxSafeInteger())), (given) => {
        expect(elements(int8s(given, self)).map((bytes) => bytes && Number(bytes.readBigInt64BE()))).toEqual(given);
      }),
    );
  });

  test('small integers, numbers and booleans', () => {
    expect(elements(int4s([-1, 2 ** 31 - 1], self)).map((bytes) => bytes?.readInt32BE())).toEqual([-1, 2 ** 31 - 1]);
    expect(elements(float8s([0.1, null], self)).map((bytes) => bytes?.readDoubleBE())).toEqual([0.1, undefined]);
    expect(elements(bools([true, false], self)).map((bytes) => bytes?.readUInt8())).toEqual([1, 0]);
    expect(elements(texts([], self))).toEqual([]);
  });
});
