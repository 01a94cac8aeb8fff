import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Branch, changeCountOf, changesBetween, type Json, type Node } from './changes.ts';

const member = (node: Node, name: string): Node | undefined =>
  (node as Branch).members.find(([each]) => each === name)?.[1];

describe('what differs between two beliefs', () => {
  it('tells of what was added, what went away and what became what', () => {
    const node = changesBetween({ a: 1, b: 2, c: { d: [1] } }, { a: 1, b: 3, c: { d: [1, 2] }, e: {} });
    expect(node).toMatchObject({ kind: 'branch', change: 'changed', changeCount: 3 });
    expect(member(node, 'a')?.change).toBe('same');
    expect(member(node, 'b')).toMatchObject({ change: 'changed', before: 2, after: 3 });
    expect(member(node, 'e')?.change).toBe('added');
    expect(member(member(member(node, 'c')!, 'd')!, '1')).toMatchObject({ change: 'added', after: 2 });
  });

  it('counts a part that went away once, however large it is', () => {
    expect(changeCountOf(changesBetween({ a: { b: 1, c: 2 } }, {}))).toBe(1);
  });

  it('replaces what has another shape', () => {
    expect(changesBetween([1], { 0: 1 })).toMatchObject({ kind: 'leaf', change: 'changed' });
    expect(changesBetween(null, {})).toMatchObject({ kind: 'leaf', change: 'changed' });
  });

  it('is not misled by names of what every object has', () => {
    const hostile = JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}') as Json;
    const node = changesBetween({}, hostile);
    expect((node as Branch).members.map(([name]) => name)).toEqual(['__proto__', 'constructor']);
    expect(changeCountOf(node)).toBe(2);
  });

  it('finds no change where there is none, and one where there is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(changeCountOf(changesBetween(a as Json, structuredClone(a) as Json))).toBe(0);
        const isSame = JSON.stringify(a) === JSON.stringify(b);
        if (!isSame && JSON.stringify(sorted(a)) !== JSON.stringify(sorted(b))) {
          expect(changeCountOf(changesBetween(a as Json, b as Json))).toBeGreaterThan(0);
        }
      }),
    );
  });
});

/** The order of members is no difference; -0 is 0 in JSON. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, of]) => [name, sorted(of)]);
}
