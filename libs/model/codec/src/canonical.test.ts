/** Owns the tests of canonical JSON (against the examples of RFC 8785) and of what is refused as not being JSON. */

import { canonicalJson, InvalidError, type Json, LimitError, RETURNED_BOUNDS } from '@tidemark/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toJson } from './canonical.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
const canonical = (text: string): string => canonicalJson(JSON.parse(text) as Json);

describe('RFC 8785', () => {
  test('section 3.2.2: literals, strings and numbers', () => {
    const input = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    expect(canonical(input)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  test('section 3.2.3: members are sorted by UTF-16 code units', () => {
    const input = String.raw`{
      "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
    }`;
    const values = Object.values(JSON.parse(canonical(input)) as object);
    // An object puts the key "1" first whatever its place in the text.
    expect(values).toEqual([
      'One',
      'Carriage Return',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
    expect(canonical(input).indexOf('"\\r"')).toBe(1);
  });

  test.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('appendix B: the number %s is %s', (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
  });
});

/** Any JSON value, `__proto__` members included; without -0, which JSON text can't tell from 0. */
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);

/** The same value with the members of every object in reverse order. */
function reversed(value: Json): Json {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

describe('any value', () => {
  test('is read back from its canonical text, which doesn’t depend on the order of members', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(value);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(canonical(text)).toBe(text);
      }),
    );
  });

  test('that is JSON already is given back as it is', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(toJson(value, 'belief')).toBe(value);
      }),
    );
  });

  test('survives JSON text unchanged once it was taken', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        let taken: Json;
        try {
          taken = toJson(value, 'belief');
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidError);
          return;
        }
        expect(canonical(JSON.stringify(taken))).toBe(canonicalJson(taken));
      }),
      { numRuns: 1_000 },
    );
  });
});

class Price {
  readonly cents = 1;
}

const cycle: { self?: unknown } = {};
cycle.self = cycle;
const deep = (levels: number): unknown => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 0);

describe('what JSON can’t hold is refused by its place', () => {
  test.each<[string, unknown, string]>([
    ['a function', { steps: [{ run: () => 1 }] }, 'belief at steps[0].run: a function'],
    ['a bigint', { total: 1n }, 'belief at total: a bigint'],
    ['a symbol', [Symbol('s')], 'belief at [0]: a symbol'],
    ['NaN', { a: { b: Number.NaN } }, 'belief at a.b: NaN'],
    ['an infinity', [[Number.NEGATIVE_INFINITY]], 'belief at [0][0]: -Infinity'],
    ['a date', { at: new Date(0) }, 'belief at at: a Date'],
    ['a map', new Map(), 'belief: a Map'],
    ['a class of the user’s', { price: new Price() }, 'belief at price: a Price'],
    ['bytes', { data: new Uint8Array(1) }, 'belief at data: a Uint8Array'],
    ['undefined in an array', ['a', undefined], 'belief at [1]: undefined'],
    ['a hole in an array', Array(1), 'belief at [0]: undefined'],
    ['undefined alone', undefined, 'belief: undefined'],
    ['a cycle', cycle, 'a cycle, or more than'],
    ['too many levels', deep(RETURNED_BOUNDS.depthMax + 1), 'a cycle, or more than'],
  ])('%s', (_, value, message) => {
    expect(() => toJson(value, 'belief')).toThrow(InvalidError);
    expect(() => toJson(value, 'belief')).toThrow(message);
  });

  test.each<[string, unknown, string]>([
    [
      'more values than a text may have',
      { list: Array(RETURNED_BOUNDS.valuesMaxCount).fill(0) },
      'belief at list[199998] has more',
    ],
    [
      'more members than an object may have',
      { a: Object.fromEntries(Array.from({ length: RETURNED_BOUNDS.membersMaxCount + 1 }, (_, at) => [at, 0])) },
      'belief at a has more than 50000 members',
    ],
    [
      'a key that is a text',
      { a: [{ ['k'.repeat(RETURNED_BOUNDS.keyMaxChars + 1)]: 1 }] },
      'belief at a[0] has a key longer',
    ],
  ])('%s', (_, value, message) => {
    expect(() => toJson(value, 'belief')).toThrow(LimitError);
    expect(() => toJson(value, 'belief')).toThrow(message);
  });

  test('the error holds the place for programs', () => {
    try {
      toJson({ steps: [1n] }, 'input of task price');
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({
        code: 'not-serialisable',
        details: { what: 'input of task price', path: 'steps[0]' },
      });
    }
  });
});

describe('what JSON leaves out is left out', () => {
  test('undefined members go; what holds none stays the same object', () => {
    const kept = { a: [1] };
    const taken = toJson({ kept, gone: undefined, list: [{ gone: undefined }] }, 'belief') as { kept: unknown };
    expect(taken).toStrictEqual({ kept: { a: [1] }, list: [{}] });
    expect(taken.kept).toBe(kept);
  });

  test('objects without a prototype and members named __proto__ are data', () => {
    const bare = Object.assign(Object.create(null) as object, { a: 1 });
    expect(canonicalJson(toJson(bare, 'belief'))).toBe('{"a":1}');
    const hostile = toJson(JSON.parse('{"__proto__": {"a": 1}, "b": 1}'), 'belief');
    expect(canonicalJson(hostile)).toBe('{"__proto__":{"a":1},"b":1}');
    const changed = toJson({ ...(hostile as object), gone: undefined }, 'belief');
    expect(canonicalJson(changed)).toBe('{"__proto__":{"a":1},"b":1}');
  });

  test('the deepest value that is taken', () => {
    expect(canonicalJson(toJson(deep(RETURNED_BOUNDS.depthMax), 'belief'))).toHaveLength(
      2 * RETURNED_BOUNDS.depthMax + 1,
    );
  });
});
