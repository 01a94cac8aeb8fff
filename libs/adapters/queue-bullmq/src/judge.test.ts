/** Owns the tests of who counts as alive, rule by rule. */

import { holderId } from '@tidemark/core';
import { describe, expect, test } from 'vitest';
import {
  type Beat,
  isAlive,
  PRESENCE_SLACK_MS,
  type Presence,
  packLeases,
  packWord,
  parseAdverts,
  parseBeat,
  parseWords,
  unpackLeases,
} from './judge.ts';

const a = holderId('a');
const beat = (ageMs: number, standing: readonly string[] = []): Beat => ({
  ageMs,
  ttlMs: 1_000,
  stallMs: 5_000,
  number: '1',
  standing,
});
/** For each living coordinator, how long the holder's connection there has been closed; null when it is open. */
type Closed = { readonly [coordinator: string]: number | null };

function lives(beat: Beat | undefined, closed: Closed = {}, fields: Partial<Presence> = {}): boolean {
  const words = Object.entries(closed).map(([id, ms]) => [id, new Map(ms === null ? [] : [[a, ms]])] as const);
  const presence = { isConnected: false, others: new Set(['c2']), unseenMs: 0, stallMs: 5_000, ...fields };
  return isAlive(a, beat, new Map(words), presence);
}

describe('a holder lives', () => {
  test('while its beat is within its ttl, connected or not (L1)', () => {
    expect(lives(beat(999))).toBe(true);
    expect(lives(beat(1_000))).toBe(false);
  });

  test('not when its connection closed after its last beat; it does when it beat since, or came back (L1)', () => {
    expect(lives(beat(60), { c1: 60 })).toBe(false);
    expect(lives(beat(60, ['c1']), { c1: 60 })).toBe(false);
    expect(lives(beat(60), { c1: 60 + PRESENCE_SLACK_MS })).toBe(false);
    expect(lives(beat(60), { c1: 61 + PRESENCE_SLACK_MS })).toBe(true);
    expect(lives(beat(60), { c1: 60 }, { isConnected: true })).toBe(true);
  });

  test('until every living coordinator to which it stood has told of a close since its beat (L1)', () => {
    const both = beat(60, ['c1', 'c2']);
    expect(lives(both, { c1: 60, c2: null })).toBe(true);
    expect(lives(both, { c1: 60, c2: 100 })).toBe(true);
    expect(lives(both, { c1: 60, c2: 60 })).toBe(false);
    // The second one doesn't live, or lives and never had it.
    expect(lives(both, { c1: 60 })).toBe(false);
    expect(lives(beat(60, ['c1']), { c1: 60, c2: null })).toBe(false);
  });

  test('past its ttl while a connection stands, here or with another that lives (L2)', () => {
    expect(lives(beat(4_000), {}, { isConnected: true })).toBe(true);
    expect(lives(beat(4_000, ['c2']))).toBe(true);
    expect(lives(beat(4_000, ['c3']))).toBe(false);
    expect(lives(beat(4_000, ['c2', 'c1']), { c1: null, c2: 50 })).toBe(false);
    expect(lives(beat(4_000))).toBe(false);
  });

  test('without a beat for its stall time while it is connected (L3)', () => {
    expect(lives(undefined, {}, { isConnected: true, unseenMs: 5_000 })).toBe(true);
    expect(lives(undefined, {}, { isConnected: true, unseenMs: 5_001 })).toBe(false);
    expect(lives(undefined)).toBe(false);
  });
});

test('a word is read as it is written, and grows older', () => {
  const closed = new Map([[a, 50], [holderId('b c'), 0]]); // biome-ignore format: one a pair
  for (const ended of [[], [a]]) {
    expect(parseWords(['c1', `1000 ${packWord(closed, ended)}`, 'c2', '1200 []'], 1_250)).toEqual({
      words: new Map([
        ['c1', new Map([[a, 300], ['b c', 250]])], // biome-ignore format: one a pair
        ['c2', new Map()],
      ]),
      ended: new Set(ended),
    });
  }
  const { words, ended } = parseWords(['c1', '1000 {', 'c2', ''], 1_000);
  expect([words, ended.size]).toEqual([new Map([['c1', new Map()], ['c2', new Map()]]), 0]); // biome-ignore format: one a pair
});

test('a beat is read as it is written', () => {
  expect(parseBeat('1000 1000 5000 7 c1,c2', 1_250)).toEqual({
    ageMs: 250,
    ttlMs: 1_000,
    stallMs: 5_000,
    number: '7',
    standing: ['c1', 'c2'],
  });
  expect(parseBeat('1000 1000 5000 7 ', 900)).toMatchObject({ ageMs: 0, standing: [] });
});

test('what another version may write is left out', () => {
  expect(parseAdverts(['{', '1', '{"id":"c"}', '{"id":"c","host":"h","port":1,"token":"t"}'])).toEqual([
    { id: 'c', host: 'h', port: 1, token: 't' },
  ]);
  for (const text of ['', '{', '{}', 'null', '"a"']) expect(unpackLeases(text).leases.size).toBe(0);
  const leases = [{ workflow: 'w' as never, epoch: 3 as never }];
  const announced = { build: 'b', serves: ['1 d', '1! d'], routes: ['1 d'] };
  expect(unpackLeases(packLeases(leases))).toEqual({ leases: new Map([['w', 3]]), announced: undefined });
  expect(unpackLeases(packLeases(leases, announced))).toEqual({ leases: new Map([['w', 3]]), announced });
  for (const foreign of [
    null,
    1,
    {},
    { serves: [] },
    { serves: [1], routes: [] },
    { build: 'b', serves: [], routes: [1] },
  ]) {
    expect(unpackLeases(JSON.stringify(['', foreign])).announced).toBeUndefined();
  }
});
