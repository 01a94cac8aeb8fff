/** Slots across changes of summer time and after downtime; what is refused. */

import { describe, expect, it } from 'vitest';
import { checkedSpec, dueSlots, inputAt, nextSlot } from './schedule-spec.ts';

const at = (text: string): number => Date.parse(text);
const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
const daily = { cron: '30 2 * * *', timeZone: 'Europe/Berlin' };

describe('slots', () => {
  it('follow the wall clock of the time zone; a slot that summer time skips comes right after it', () => {
    const slots = ['2026-03-28T00:00Z', '2026-03-28T12:00Z', '2026-03-29T12:00Z'].map((after) =>
      iso(nextSlot(daily, at(after))),
    );
    expect(slots).toEqual(['2026-03-28T01:30:00.000Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
  });

  it('come once where the end of summer time repeats them', () => {
    const first = nextSlot(daily, at('2026-10-24T12:00Z'))!;
    expect(iso(first)).toBe('2026-10-25T00:30:00.000Z');
    expect(iso(nextSlot(daily, first))).toBe('2026-10-26T01:30:00.000Z');
  });

  it('may have seconds', () => {
    expect(iso(nextSlot({ cron: '*/10 * * * * *', timeZone: 'UTC' }, at('2026-01-01T00:00:05Z')))).toBe(
      '2026-01-01T00:00:10.000Z',
    );
  });

  const hourly = { cron: '0 * * * *', timeZone: 'UTC' };
  const due = (catchUp: number, afterMs: number, untilMs: number) => {
    const { slots, missedCount } = dueSlots({ ...hourly, catchUp }, { afterMs, untilMs, graceMs: 60_000 });
    return [slots.map((slot) => iso(slot)!.slice(11, 16)), missedCount];
  };
  it('that are due in time are begun', () => {
    expect(due(0, at('2026-01-01T00:30Z'), at('2026-01-01T01:00Z'))).toEqual([['01:00'], 0]);
    expect(due(0, at('2026-01-01T00:30Z'), at('2026-01-01T01:00:30Z'))).toEqual([['01:00'], 0]);
    expect(due(1, at('2026-01-01T01:00Z'), at('2026-01-01T01:30Z'))).toEqual([[], 0]);
  });

  it('that were missed are made up for, the newest ones, as many as the schedule says', () => {
    const [after, until] = [at('2026-01-01T00:30Z'), at('2026-01-01T05:00:10Z')];
    expect(due(0, after, until)).toEqual([['05:00'], 4]);
    expect(due(2, after, until)).toEqual([['03:00', '04:00', '05:00'], 2]);
    expect(due(9, after, until)).toEqual([['01:00', '02:00', '03:00', '04:00', '05:00'], 0]);
  });

  it('of years away are found from the end, and counted as far as is reasonable', () => {
    const seconds = { cron: '* * * * * *', timeZone: 'UTC', catchUp: 3 };
    const until = at('2026-01-01T00:00:00Z');
    const { slots, missedCount } = dueSlots(seconds, { afterMs: at('2016-01-01T00:00Z'), untilMs: until, graceMs: 0 });
    expect(slots.map((slot) => until - slot)).toEqual([3_000, 2_000, 1_000, 0]);
    expect(missedCount).toBeGreaterThan(1_900);
  });
});

describe('a schedule', () => {
  it('has defaults', () => {
    expect(checkedSpec({ cron: '0 9 * * 1-5' })).toEqual({
      ...{ cron: '0 9 * * 1-5', timeZone: 'UTC', input: {}, overlap: 'skip', catchUp: 1, slotField: null, user: null },
    });
  });

  it('gives its runs the time of their slot where it says in which field', () => {
    const spec = { input: { a: 1 }, slotField: 'slot' };
    expect(inputAt(spec, at('2026-01-01T00:00Z'))).toEqual({ a: 1, slot: '2026-01-01T00:00:00.000Z' });
    expect(inputAt({ ...spec, slotField: null }, 0)).toEqual({ a: 1 });
  });

  const cron = '0 9 * * *';
  it.each([
    ['no pattern', {}, /^cron: give a text/],
    [
      'a pattern that is none',
      { cron: 'every day' },
      /^cron: 'every day' is not a cron pattern: five or six parts are needed\.$/,
    ],
    ['a part that is none', { cron: '99 * * * *' }, /^cron: '99 .*[^.]\.$/],
    ['a part that each process reads in its own way', { cron: '? * * * *' }, /^cron: .* has a '\?'; write '\*'\.$/],
    ['a pattern that never comes', { cron: '0 0 31 2 *' }, /^cron: .* never matches a time/],
    ['a huge pattern', { cron: '1,'.repeat(1_000) }, /at most 200/],
    ['an unknown time zone', { cron, timeZone: 'Mars/Olympus' }, /^timeZone: 'Mars\/Olympus' is not a time zone/],
    ['an unknown overlap', { cron, overlap: 'maybe' }, /^overlap: give one of skip, queue/],
    ['too much to make up for', { cron, catchUp: 1_001 }, /^catchUp: /],
    [
      'a field of an input without fields',
      { cron, input: 3, slotField: 'at' },
      /^slotField: the input must be an object/,
    ],
    ['a hostile field', { cron, slotField: '__proto__' }, /^slotField: give the name/],
  ])('with %s is refused', (_, value, message) => {
    expect(() => checkedSpec(value)).toThrow(expect.objectContaining({ code: 'schedule-invalid' }));
    expect(() => checkedSpec(value)).toThrow(message);
  });
});
