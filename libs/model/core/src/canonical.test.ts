/** Owns the test that both ways of writing canonical JSON give the same text. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from './belief.ts';
import { canonicalJson } from './canonical.ts';

/** The same value with the members of every object in another order. */
function ordered(value: Json, order: (keys: string[]) => string[]): Json {
  if (Array.isArray(value)) return value.map((item) => ordered(item, order));
  if (typeof value !== 'object' || value === null) return value;
  const members = value as { readonly [key: string]: Json };
  return Object.fromEntries(order(Object.keys(members)).map((key) => [key, ordered(members[key]!, order)]));
}

test('the order of members changes nothing, whichever way it is written', () => {
  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
  fc.assert(
    fc.property(json, (value) => {
      const fast = canonicalJson(ordered(value, (keys) => keys.sort()));
      expect(JSON.parse(fast)).toEqual(value);
      expect(canonicalJson(ordered(value, (keys) => keys.sort().reverse()))).toBe(fast);
      expect(canonicalJson(value)).toBe(fast);
      // As folded states and messages have it, in or out of order.
      expect(canonicalJson({ b: value, a: undefined as never })).toBe(canonicalJson({ b: value }));
      expect(canonicalJson({ a: undefined as never, b: value })).toBe(canonicalJson({ b: value }));
    }),
    { numRuns: 1_000 },
  );
});
