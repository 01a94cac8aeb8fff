/** Owns the test of names of records: a row returns what was stored, and no other text is taken for one. */

import type { Offset, Partition } from '@tidemark/core';
import { expect, it } from 'vitest';
import { placeOf, placeText } from './record-place.ts';

it.each([
  [0, 0, 0],
  [2 ** 31 - 1, Number.MAX_SAFE_INTEGER, 999_999_999],
])('the record at %i:%i of %i bytes is named by its row', (partition, offset, bytes) => {
  const place = { partition: partition as Partition, offset: offset as Offset, bytes };
  expect(placeOf(placeText(place))).toEqual(place);
});

it.each(['{"output":"forged"}', '', '@1:2', '@1:2:3 ', '@-1:2:3', '@1:2:3:4', '@1:2:9999999999'])(
  '%j names no record: a row that has it was changed',
  (text) => {
    expect(() => placeOf(text)).toThrow(expect.objectContaining({ code: 'rows-wrong' }));
  },
);
