/** Owns the tests of belief as data: its invariant over any two values, what a delta costs, what is shared, hostile keys. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyDelta, type Delta, diff, type Json, SNAPSHOT_MIN_BYTES, snapshotDue } from './belief.ts';
import { CorruptError } from './errors.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
/** Few keys and small values, so that two values have much in common; among them are names that objects treat specially. */
const key = fc.constantFrom('a', 'b', 'c', '', '__proto__', 'constructor', 'toString', '0', 'v', 'o', 'x');
const { value: json } = fc.letrec<{ value: Json; array: Json; object: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<Json>(null, true, false, 0, 1, '', 'x'),
    tie('array'),
    tie('object'),
  ),
  array: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));

/** As a delta is stored. */
const stored = (delta: Delta): Delta => JSON.parse(JSON.stringify(delta)) as Delta;
/** Deep equality in JSON's sense, own members only. */
const textOf = (value: Json): string =>
  JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
const parse = (text: string): Json => JSON.parse(text) as Json;

describe('applyDelta(before, diff(before, after))', () => {
  test('is deeply equal to after, for any two values, also through JSON text', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const text = textOf(before);
        const delta = diff(before, after);
        const result = delta === undefined ? before : applyDelta(before, stored(delta));
        expect(textOf(result)).toBe(textOf(after));
        expect(textOf(before)).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is deeply equal to after for a value and a changed copy of it', () => {
    const change = fc.array(fc.tuple(key, fc.option(json, { nil: undefined })), { minLength: 1, maxLength: 3 });
    const object = fc.dictionary(key, json, { maxKeys: 6, noNullPrototype: true });
    fc.assert(
      fc.property(object, change, (before, changes) => {
        const members = new Map(Object.entries(before));
        for (const [name, value] of changes) {
          if (value === undefined) members.delete(name);
          else members.set(name, value);
        }
        const after = Object.fromEntries(members) as Json;
        const delta = diff(before, after);
        expect(textOf(delta === undefined ? before : applyDelta(before, stored(delta)))).toBe(textOf(after));
      }),
      { numRuns: 1_000 },
    );
  });

  test('is undefined exactly when nothing changed', () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        expect(diff(before, after) === undefined).toBe(textOf(before) === textOf(after));
        expect(diff(before, parse(JSON.stringify(before)))).toBeUndefined();
      }),
    );
  });
});

describe('a delta costs what changed', () => {
  const files = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`file${n}`, { lines: n }]));

  test('a new member, a changed one and one that went away', () => {
    const { file7: _, ...rest } = files;
    expect(diff(files, { ...rest, file3: { lines: 4 }, done: true })).toEqual({
      o: { file3: { o: { lines: { v: 4 } } }, done: { v: true } },
      x: ['file7'],
    });
  });

  test('an array that grew is appended to; one that changed inside is replaced', () => {
    expect(diff({ log: [1, 2] }, { log: [1, 2, 3] })).toEqual({ o: { log: { a: [3] } } });
    expect(diff([[1], [2]], [[1], [2], [3]])).toEqual({ a: [[3]] });
    expect(diff([1, 2], [1, 3])).toEqual({ v: [1, 3] });
    expect(diff([1, 2], [1])).toEqual({ v: [1] });
    expect(diff([], [1])).toEqual({ a: [1] });
  });

  test('another kind of value is replaced', () => {
    expect(diff({ 0: 'a' }, ['a'])).toEqual({ v: ['a'] });
    expect(diff(null, {})).toEqual({ v: {} });
    expect(diff({}, null)).toEqual({ v: null });
  });

  test('parts that are the same object are not looked into', () => {
    let readCount = 0;
    const untouched = new Proxy<{ [key: string]: Json }>(
      { a: 1 },
      {
        ownKeys: (target) => {
          readCount++;
          return Reflect.ownKeys(target);
        },
      },
    );
    const before = { untouched, count: 1 };
    expect(diff(before, { ...before, count: 2 })).toEqual({ o: { count: { v: 2 } } });
    expect(readCount).toBe(0);
  });
});

describe('applying', () => {
  test('shares what the delta doesn’t touch', () => {
    const before = { kept: { deep: [1] }, list: [{ n: 1 }], changed: { kept: { n: 1 }, n: 1 } };
    const after = applyDelta(before, {
      o: { list: { a: [{ n: 2 }] }, changed: { o: { n: { v: 2 } } } },
    }) as typeof before;
    expect(after.kept).toBe(before.kept);
    expect(after.list[0]).toBe(before.list[0]);
    expect(after.changed.kept).toBe(before.changed.kept);
    expect(after).toEqual({ kept: { deep: [1] }, list: [{ n: 1 }, { n: 2 }], changed: { kept: { n: 1 }, n: 2 } });
    expect(before.list).toHaveLength(1);
  });

  test('a first belief has nothing before it', () => {
    expect(applyDelta(undefined, { v: { a: 1 } })).toEqual({ a: 1 });
  });

  test('a member named __proto__ is data: added, changed, taken away, never a prototype', () => {
    const hostile = parse('{"__proto__": {"polluted": 1}}');
    const added = applyDelta({}, stored(diff({}, hostile)!));
    expect(JSON.stringify(added)).toBe('{"__proto__":{"polluted":1}}');
    expect(Object.getPrototypeOf(added)).toBe(Object.prototype);
    expect((added as { polluted?: unknown }).polluted).toBeUndefined();
    const changed = applyDelta(added, stored(diff(added, parse('{"__proto__": {"polluted": 2}, "b": 1}'))!));
    expect(textOf(changed)).toBe('{"__proto__":{"polluted":2},"b":1}');
    expect(JSON.stringify(applyDelta(changed, stored(diff(changed, { b: 1 })!)))).toBe('{"b":1}');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test.each<[string, Json | undefined, unknown]>([
    ['an appendix to what is no array', { a: 1 }, { a: [1] }],
    ['an appendix to nothing', undefined, { a: [1] }],
    ['members of a text', 'text', { o: { length: { v: 1 } } }],
    ['members of an array', [1], { o: { 0: { v: 2 } } }],
    ['members of nothing', undefined, { o: {} }],
    ['a change inside a member that isn’t there', {}, { o: { missing: { o: { n: { v: 1 } } } } }],
    ['a delta of no known form', {}, { q: 1 }],
  ])('says that the log contradicts itself: %s', (_, before, delta) => {
    expect(() => applyDelta(before, delta as Delta)).toThrow(CorruptError);
  });
});

test('a snapshot is due once the deltas outweigh it, and not for a few bytes', () => {
  expect(snapshotDue(SNAPSHOT_MIN_BYTES, 10)).toBe(false);
  expect(snapshotDue(SNAPSHOT_MIN_BYTES + 1, 10)).toBe(true);
  expect(snapshotDue(1_000_000, 1_000_000)).toBe(false);
  expect(snapshotDue(1_000_001, 1_000_000)).toBe(true);
});
