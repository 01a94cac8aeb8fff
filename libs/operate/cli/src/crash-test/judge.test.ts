/** Owns what counts as doubled, deduplicable, other and lost, on calls that are written down here. */

import { describe, expect, it } from 'vitest';
import { spread } from './crash-test.ts';
import { difference, isBad, judge, type Outcome, type Trial } from './judge.ts';
import type { Call } from './receiver.ts';

/** `pay#k`: a request with a key; `?` begins a read, `~` a call of a model. */
const called = (text: string): Call => {
  const [what = '', key] = text.split('#');
  const kind = what.startsWith('?') ? 'read' : what.startsWith('~') ? 'model' : 'write';
  return { what, request: what, key: key ?? null, kind, atMs: 0 };
};
const outcome = (calls: string): Outcome => ({
  calls: calls === '' ? [] : calls.split(' ').map(called),
  code: 0,
  lastLine: 'done',
});
const trial = (calls: string, rest: Partial<Trial> = {}): Trial => ({
  ...outcome(calls),
  ...{ number: 1, moment: 'unanswered', isKilled: true, isLate: false, resumeMs: null },
  ...rest,
});

describe('a trial', () => {
  it.each<[calm: string, made: string, expected: Partial<ReturnType<typeof judge>>]>([
    ['a b', 'a b', {}],
    ['a b', 'a a b', { doubled: ['a'] }],
    ['a#1 b', 'a#1 a#1 b', { deduplicable: ['a'] }],
    // Another key each time is none.
    ['a#1', 'a#2 a#3', { doubled: ['a'] }],
    // One under a key of its own, and one that repeats it.
    ['a#1', 'a#2 a#3 a#3', { doubled: ['a'], deduplicable: ['a'] }],
    ['a#1', 'a#1 a', { doubled: ['a'] }],
    // A calm run may make a call twice.
    ['a a', 'a a', {}],
    ['a a', 'a a a', { doubled: ['a'] }],
    ['a#1 a#2', 'a#1 a#1 a#2', { deduplicable: ['a'] }],
    ['a a', 'a', { lost: ['a'] }],
    ['a b', 'b', { lost: ['a'] }],
    ['a', 'a c', { other: ['c'] }],
    // The same key for another request is another call.
    ['a#1', 'a#1 c#1', { other: ['c'] }],
    ['?a b', '?a ?a ?c b', {}],
    ['?a b', 'b', {}],
    ['~a b', '~a ~a ~c b', { modelAgainCount: 2 }],
  ])('%s, then %s', (calm, made, expected) => {
    const verdict = judge(outcome(calm), trial(made));
    const fine = { doubled: [], deduplicable: [], other: [], lost: [], modelAgainCount: 0 };
    expect(verdict).toEqual({ ...fine, ...expected });
    expect(isBad(verdict)).toBe(['doubled', 'other', 'lost'].some((name) => name in expected));
  });

  it.each<[Partial<Trial>, RegExp]>([
    [{ code: 1 }, /exit code 1/],
    [{ code: null, isLate: true }, /time limit/],
    [{ lastLine: 'half' }, /last line/],
  ])('loses its end: %j', (rest, words) => {
    expect(judge(outcome('a'), trial('a', rest)).lost).toEqual([expect.stringMatching(words)]);
  });
});

it('knows calm runs apart, in whatever order calls come', () => {
  expect(difference(outcome('a b'), outcome('b a'))).toBeUndefined();
  expect(difference(outcome('a b'), outcome('a'))).toMatch(/makes 2 calls, the second 1/);
  expect(difference(outcome('a b'), outcome('a c'))).toMatch(/call 2 of the first, b,/);
  expect(difference(outcome('a'), { ...outcome('a'), lastLine: 'now' })).toMatch(/last line/);
  expect(difference(outcome('a'), { ...outcome('a'), code: 2 })).toMatch(/exit code 0, the second with 2/);
});

it('spreads fewer kills evenly', () => {
  expect(spread([1, 2, 3, 4, 5, 6, 7], 3)).toEqual([1, 3, 5]);
  expect(spread([1, 2], 3)).toEqual([1, 2]);
});
