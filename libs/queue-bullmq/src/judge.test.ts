/** Who counts as alive, rule by rule. */

import { describe, expect, test } from 'vitest';
import { type Beat, isAlive, type Presence, packLeases, parseAdverts, parseBeat, unpackLeases } from './judge.ts';
import { PRESENCE_SLACK_MS } from './limits.ts';

const beat = (ageMs: number, standing: readonly string[] = []): Beat => ({
  ageMs,
  ttlMs: 1_000,
  stallMs: 5_000,
  number: '1',
  standing,
});
const presence = (fields: Partial<Presence> = {}): Presence => ({
  isConnected: false,
  closedForMs: undefined,
  others: new Set(['c2']),
  unseenMs: 0,
  stallMs: 5_000,
  ...fields,
});

describe('a holder lives', () => {
  test('while its beat is within its ttl, connected or not (L1)', () => {
    expect(isAlive(beat(999), presence())).toBe(true);
    expect(isAlive(beat(1_000), presence())).toBe(false);
  });

  test('not when its connection closed after its last beat; it does when it beat since (L1)', () => {
    expect(isAlive(beat(60), presence({ closedForMs: 60 }))).toBe(false);
    expect(isAlive(beat(60), presence({ closedForMs: 60 + PRESENCE_SLACK_MS }))).toBe(false);
    expect(isAlive(beat(60), presence({ closedForMs: 61 + PRESENCE_SLACK_MS }))).toBe(true);
    expect(isAlive(beat(60, ['c2']), presence({ closedForMs: 60 }))).toBe(false);
  });

  test('past its ttl while a connection stands, here or with another that lives (L2)', () => {
    expect(isAlive(beat(4_000), presence({ isConnected: true }))).toBe(true);
    expect(isAlive(beat(4_000, ['c2']), presence())).toBe(true);
    expect(isAlive(beat(4_000, ['c3']), presence())).toBe(false);
    expect(isAlive(beat(4_000), presence())).toBe(false);
  });

  test('without a beat for its stall time while it is connected (L3)', () => {
    expect(isAlive(undefined, presence({ isConnected: true, unseenMs: 5_000 }))).toBe(true);
    expect(isAlive(undefined, presence({ isConnected: true, unseenMs: 5_001 }))).toBe(false);
    expect(isAlive(undefined, presence())).toBe(false);
  });
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
  for (const text of ['', '{', '{}', 'null', '"a"']) expect(unpackLeases(text).size).toBe(0);
  expect(unpackLeases(packLeases([{ workflow: 'w' as never, epoch: 3 as never }]))).toEqual(new Map([['w', 3]]));
});
