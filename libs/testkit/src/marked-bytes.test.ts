/** Owns the tests of the search for marks: it finds every form of a mark, since a search that finds nothing proves nothing. */

import { expect, it } from 'vitest';
import { holdsMark } from './marked-bytes.ts';

const MARK = 'zq7wordsk9qz';
const dependencies = (text: string): Buffer => Buffer.from(`before ${text} after`);

it.each([0, 1, 2, 3, 4, 5])('a mark in base64 is found after %i bytes, and before as many', (count) => {
  const text = `${'#'.repeat(count)}${MARK}${'~'.repeat(count)}`;
  expect(holdsMark(dependencies(Buffer.from(text).toString('base64')), MARK)).toBe(true);
});

it('a mark is found as it is, in JSON in JSON, as UTF-16 and in hexadecimal; another isn’t', () => {
  expect(holdsMark(dependencies(MARK), MARK)).toBe(true);
  expect(holdsMark(dependencies(JSON.stringify(JSON.stringify({ a: MARK }))), MARK)).toBe(true);
  expect(holdsMark(Buffer.from(`.${MARK}.`, 'utf16le'), MARK)).toBe(true);
  expect(holdsMark(dependencies(Buffer.from(MARK).toString('hex')), MARK)).toBe(true);
  expect(holdsMark(dependencies('zq7wordsk9q'), MARK)).toBe(false);
});
