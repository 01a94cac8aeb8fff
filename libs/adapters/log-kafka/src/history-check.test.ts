/** Owns the tests of the checker on bad histories: a checker that finds nothing proves nothing. */

import { describe, expect, test } from 'vitest';
import { type AppendedCall, historyFaults } from './history-check-fixture.ts';

const calls: readonly AppendedCall[] = [
  { names: ['a1', 'a2'], first: 0 },
  { names: ['b1'], first: 2 },
  { names: ['c1', 'c2'], first: undefined },
];

describe('history check', () => {
  test.each([
    ['exactly what was appended', ['a1', 'a2', 'b1']],
    ['what was given up, stored all the same', ['a1', 'a2', 'b1', 'c1', 'c2']],
    ['whole second copies, also late', ['a1', 'a2', 'b1', 'a1', 'a2', 'b1']],
  ])('accepts %s', (_, stored) => {
    expect(historyFaults(calls, stored)).toEqual([]);
  });

  test.each([
    ['a lost record', ['a1', 'a2']],
    ['half a copy', ['a1', 'a2', 'b1', 'a1']],
    ['a foreign record', ['a1', 'a2', 'b1', 'z']],
    ['records of one append apart', ['a1', 'b1', 'a2']],
    ['half of what was given up', ['a1', 'a2', 'b1', 'c2']],
    ['an offset that is not its own', ['b1', 'a1', 'a2']],
  ])('finds %s', (_, stored) => {
    expect(historyFaults(calls, stored)).not.toEqual([]);
  });

  test('finds appends in another order than they were called', () => {
    const swapped = [
      { names: ['a'], first: 1 },
      { names: ['b'], first: 0 },
    ];
    expect(historyFaults(swapped, ['b', 'a'])).toEqual(['b at 0 comes before a at 1']);
  });
});
