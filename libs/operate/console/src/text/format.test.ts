import { describe, expect, it } from 'vitest';
import {
  ago,
  bytes,
  counted,
  duration,
  holderName,
  isFree,
  money,
  moneyOf,
  plain,
  short,
  tokensOf,
  unknownOf,
  words,
} from './format.ts';

describe('how numbers and times read', () => {
  it.each([
    [0, '<1ms'],
    [18.4, '18ms'],
    [4_250, '4.2s'],
    [59_999, '59s'],
    [61_000, '1m 1s'],
    [3_600_000 * 3 + 60_000 * 12, '3h 12m'],
    [86_400_000 * 2, '2d'],
    [Number.NaN, '–'],
  ])('a duration of %d ms is %s', (ms, text) => expect(duration(ms)).toBe(text));

  it.each([
    [0, '$0'],
    [12, '$0.00001'],
    [4_200, '$0.0042'],
    [1_250_000, '$1.25'],
    [432_000_000, '$432'],
  ])('%d millionths are %s', (micros, text) => expect(money(micros)).toBe(text));

  it('says how long ago, and how long until', () => {
    expect(ago(0, 500)).toBe('now');
    expect(ago(0, 61_000)).toBe('1m ago');
    expect(ago(61_000, 0)).toBe('in 1m 1s');
  });

  it('shortens what is long', () => {
    expect(short(9_999)).toBe('9,999');
    expect(short(123_456)).toBe('123.5K');
    expect(bytes(0)).toBe('0 B');
    expect(bytes(12_345)).toBe('12.3 KB');
    expect(holderName('worker-0192f1de-aaaa-bbbb')).toBe('…aaa-bbbb');
    expect(counted(1, 'step')).toBe('1 step');
    expect(words('budget_exceeded')).toBe('budget exceeded');
  });

  it('shows marks in place of characters that would turn the text around them', () => {
    expect(plain('a\u202egpj.exe\u0007\u200b')).toBe('a␣gpj.exe␣␣');
    expect(plain('<b>é 日本</b>')).toBe('<b>é 日本</b>');
  });
});

describe('what was spent', () => {
  it('is marked where it was estimated, has no price, or is unknown', () => {
    const unknown = { calls: 2, tokens: 16_384, cost_micros: 5_000 };
    const mixed = { tokens: 40, cost_micros: 2_000_000, estimated_tokens: 4, unpriced_tokens: 7, unknown };
    expect([tokensOf(mixed), moneyOf(mixed)]).toEqual(['~40', '$2.00+']);
    expect(unknownOf(mixed)).toBe('up to 16.4K tokens, $0.005 (2 calls)');
    const unpriced = { tokens: 7, cost_micros: null, unpriced_tokens: 7 };
    expect([moneyOf(unpriced), isFree(unpriced), unknownOf(unpriced)]).toEqual(['no price', false, undefined]);
    expect(isFree({ tokens: 0, cost_micros: 0 })).toBe(true);
  });
});
