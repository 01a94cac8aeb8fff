import { describe, expect, it } from 'vitest';
import {
  ago,
  bytes,
  clockTime,
  cost,
  costCell,
  count,
  counted,
  dateTime,
  duration,
  spentWords,
  tokenCell,
  until,
  zonedTime,
} from './units.ts';

describe('durations', () => {
  it.each([
    [-5, '0 ms'],
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1.0 s'],
    [9_999, '9.9 s'],
    [10_000, '10 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [303_000, '5 min 3 s'],
    [3_600_000, '1 h'],
    [11_520_000, '3 h 12 min'],
    [86_400_000, '1 d'],
    [356_400_000, '4 d 3 h'],
  ])('%i ms reads %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('tells what is past and what is to come', () => {
    expect(ago(1_000, 1_500)).toBe('now');
    expect(ago(2_000, 1_000)).toBe('now');
    expect(ago(0, 42_000)).toBe('42 s ago');
    expect(ago(0, 47 * 3_600_000)).toBe('47 h ago');
    expect(ago(0, 72 * 3_600_000)).toBe('3 d ago');
    expect(until(5_000, 2_000)).toBe('in 3.0 s');
    expect(until(1_000, 2_000)).toBe('due');
  });

  it('gives times of the reader, padded', () => {
    const at = new Date(2026, 2, 1, 4, 3, 2).getTime();
    expect(clockTime(at)).toBe('04:03:02');
    expect(dateTime(at)).toBe('2026-03-01 04:03:02');
    expect(zonedTime(at)).toMatch(/^2026-03-01 04:03:02 [+-]\d\d:\d\d$/);
    expect(Date.parse(zonedTime(at))).toBe(at);
  });
});

describe('amounts', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.0 kB'],
    [99_400, '99.4 kB'],
    [999_400, '999 kB'],
    [999_600, '1.0 MB'],
    [2_147_483_648, '2.1 GB'],
  ])('%i bytes read %s', (value, text) => {
    expect(bytes(value)).toBe(text);
  });

  it.each([
    [0, '$0.00'],
    [1, '<$0.0001'],
    [2_400, '$0.0024'],
    [999_000, '$0.9990'],
    [3_204_000, '$3.20'],
  ])('%i micros cost %s', (micros, text) => {
    expect(cost(micros)).toBe(text);
  });

  it('groups and counts', () => {
    expect(count(1_234_567)).toBe('1,234,567');
    expect(counted(1, 'task')).toBe('1 task');
    expect(counted(0, 'task')).toBe('0 tasks');
    expect(counted(2_000, 'process', 'processes')).toBe('2,000 processes');
  });
});

describe('what was spent', () => {
  const unknown = { calls: 2, tokens: 16_384, cost_micros: 5_000 };

  it.each([
    [{ tokens: 0, cost_micros: 0 }, [], '', ''],
    [{ tokens: 1_234, cost_micros: 120_000 }, ['1,234 tokens', '$0.1200'], '1,234', '$0.1200'],
    [{ tokens: 1_234, cost_micros: 0, estimated_tokens: 1_234 }, ['1,234 tokens (all estimated)'], '~1,234', ''],
    [
      { tokens: 40, cost_micros: null, unpriced_tokens: 40, estimated_tokens: 9 },
      ['40 tokens (9 estimated)', 'no price'],
      ...['~40', 'no price'],
    ],
    [
      { tokens: 40, cost_micros: 2_000_000, unpriced_tokens: 7, unknown },
      [
        '40 tokens',
        '$2.00 and 7 tokens without a price',
        'up to 16,384 tokens, $0.0050 more in 2 calls without an answer',
      ],
      ...['40', '$2.00+'],
    ],
  ] as const)('%j is said as it is known, and never as nothing', (spent, said, tokens, money) => {
    expect(spentWords(spent)).toEqual(said);
    expect([tokenCell(spent), costCell(spent)]).toEqual([tokens, money]);
  });
});
