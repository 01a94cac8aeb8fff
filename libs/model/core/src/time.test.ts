/** Owns the tests of UUIDv7: the form of RFC 9562, its fixed bits, and order by time. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { uuidv7 } from './time.ts';

const random = fc.uint8Array({ minLength: 10, maxLength: 10 });
const timeMs = fc.nat(2 ** 48 - 1);

test('is the example of RFC 9562, appendix A.6', () => {
  const bytes = Uint8Array.of(0xcc, 0xc3, 0x18, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f);
  expect(uuidv7(0x017f22e279b0, bytes)).toBe('017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
});

test('has version 7, the variant, the time and the randomness', () => {
  fc.assert(
    fc.property(timeMs, random, (atMs, bytes) => {
      const id = uuidv7(atMs, bytes);
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(atMs);
      const hex = id.replaceAll('-', '');
      const kept = [...bytes].map((byte, at) => (at === 0 ? byte & 0x0f : at === 2 ? byte & 0x3f : byte));
      const found = kept.map((_, at) => Number.parseInt(hex.slice(12 + at * 2, 14 + at * 2), 16));
      expect(found.map((byte, at) => (at === 0 ? byte & 0x0f : at === 2 ? byte & 0x3f : byte))).toEqual(kept);
    }),
  );
});

test('sorts by time, as text', () => {
  fc.assert(
    fc.property(timeMs, timeMs, random, random, (a, b, first, second) => {
      fc.pre(a < b);
      expect(uuidv7(a, first) < uuidv7(b, second)).toBe(true);
    }),
  );
});

test('takes fractions of a millisecond and times before 1970', () => {
  const zeros = new Uint8Array(10);
  expect(uuidv7(1.9, zeros)).toBe(uuidv7(1, zeros));
  expect(uuidv7(-5, zeros)).toBe(uuidv7(0, zeros));
});
