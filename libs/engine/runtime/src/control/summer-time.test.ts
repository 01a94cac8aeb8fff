/**
 * Every slot comes exactly once over every change of summer time, in zones of all kinds. The judge shares nothing with the code: it walks
 * the minutes as they pass, and asks the platform what a clock on the wall shows.
 */

import { describe, expect, it } from 'vitest';
import { dueSlots, nextSlot } from './schedule-spec.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Gaps and repetitions of an hour, of half an hour and of two, at night, at midnight; half-hour and quarter-hour offsets. */
const ZONES = [
  ...['Europe/Berlin', 'Europe/London', 'Europe/Dublin', 'Europe/Chisinau', 'Atlantic/Azores', 'America/New_York'],
  ...['America/St_Johns', 'America/Santiago', 'America/Havana', 'America/Nuuk', 'Africa/Cairo'],
  ...['Africa/Casablanca', 'Asia/Beirut', 'Asia/Jerusalem', 'Australia/Lord_Howe', 'Australia/Sydney'],
  ...['Pacific/Auckland', 'Pacific/Chatham', 'Pacific/Easter', 'Antarctica/Troll'],
];

/** Minutes and hours of each pattern; all days. */
const EVERY = Array.from({ length: 60 }, (_, at) => at);
const PATTERNS: readonly (readonly [cron: string, minutes: readonly number[], hours: readonly number[]])[] = [
  ['30 2 * * *', [30], [2]],
  ['30 2,14 * * *', [30], [2, 14]],
  ['0,30 2 * * *', [0, 30], [2]],
  ['*/20 2 * * *', [0, 20, 40], [2]],
  ['15,45 0-3 * * *', [15, 45], [0, 1, 2, 3]],
  ['0 */2 * * *', [0], EVERY.filter((hour) => hour < 24 && hour % 2 === 0)],
  ['0 0 * * *', [0], [0]],
  ['*/5 1,2 * * *', EVERY.filter((minute) => minute % 5 === 0), [1, 2]],
  ['5 23,0,1,2,3 * * *', [5], [23, 0, 1, 2, 3]],
  ['0 * * * *', [0], EVERY.slice(0, 24)],
  ['*/20 * * * *', [0, 20, 40], EVERY.slice(0, 24)],
  ['45 0-23 * * *', [45], EVERY.slice(0, 24)],
];

/** What a clock on the wall shows, in minutes since 1970 as if it were UTC's. */
function wallClock(zone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  return (atMs) => Date.parse(`${format.format(atMs).replace(' ', 'T')}Z`) / MINUTE_MS;
}

/** Each change of a zone's clock in a year: when it comes, and how far the clock jumps, in minutes. */
function changesOf(zone: string): readonly { readonly atMs: number; readonly jump: number }[] {
  const wall = wallClock(zone);
  const jumpAt = (fromMs: number, toMs: number): number => wall(toMs) - wall(fromMs) - (toMs - fromMs) / MINUTE_MS;
  const changes: { atMs: number; jump: number }[] = [];
  for (let day = Date.UTC(2026, 0, 1); day < Date.UTC(2027, 0, 1); day += DAY_MS) {
    if (jumpAt(day, day + DAY_MS) === 0) continue;
    let atMs = day;
    for (const stepMs of [HOUR_MS, MINUTE_MS]) while (jumpAt(atMs, atMs + stepMs) === 0) atMs += stepMs;
    changes.push({ atMs: atMs + MINUTE_MS, jump: jumpAt(atMs, atMs + MINUTE_MS) });
  }
  return changes;
}

/** Slots in `[fromMs, toMs)`. */
const slotsIn = (cron: string, timeZone: string, fromMs: number, toMs: number): readonly number[] =>
  dueSlots({ cron, timeZone, catchUp: 0 }, { afterMs: fromMs - 1, untilMs: toMs - 1, graceMs: Number.MAX_VALUE }).slots;

describe.each(ZONES)('in %s', (zone) => {
  const wall = wallClock(zone);
  const changes = changesOf(zone);
  /** What the clock shows in the minutes around a change. */
  const around = new Map(
    changes.map(({ atMs }) => [
      atMs,
      Array.from({ length: 24 * 60 }, (_, at) => wall(atMs - DAY_MS / 2 + at * MINUTE_MS)),
    ]),
  );

  it('changes its clock', () => {
    expect(changes.length).toBeGreaterThan(1);
  });

  it.each(PATTERNS)("each slot of '%s' comes once", (cron, minutes, hours) => {
    const isHourly = hours.length === 24;
    const isMeant = (minute: number): boolean =>
      minutes.includes(minute % 60) && hours.includes(Math.floor(minute / 60) % 24);
    for (const { atMs, jump } of changes) {
      const [fromMs, toMs] = [atMs - DAY_MS / 2, atMs + DAY_MS / 2];
      const expected: number[] = [];
      const seen = new Set<number>();
      for (const [at, minute] of around.get(atMs)!.entries()) {
        // Of what the clock shows twice, the first counts; a pattern of every hour goes by the time that passes.
        if (isMeant(minute) && (isHourly || !seen.has(minute))) expected.push(fromMs + at * MINUTE_MS);
        seen.add(minute);
      }
      const found = slotsIn(cron, zone, fromMs, toMs);
      expect(found.toSorted((a, b) => a - b)).toEqual(found);
      expect(found).toEqual(expect.arrayContaining(expected));
      const skipped = Array.from({ length: Math.max(0, jump) }, (_, at) => wall(atMs) - jump + at).filter(isMeant);
      const others = found.filter((slot) => !expected.includes(slot));
      // What the clock skips comes after it, no later than the skipped time takes; in a pattern of every hour it may be what comes anyway.
      if (!isHourly) expect(others).toHaveLength(skipped.length);
      for (const other of others) expect(other - atMs).toSatisfy((ms: number) => ms >= 0 && ms < jump * MINUTE_MS);
      if (isHourly)
        for (const [at, slot] of found.entries())
          expect(slot - (found[at - 1] ?? slot)).toBeLessThanOrEqual(1.5 * HOUR_MS);
    }
  });
});

it('a slot that is skipped comes right after it, and others with their distance from the first', () => {
  const iso = (cron: string): string[] =>
    slotsIn(cron, 'Europe/Berlin', Date.UTC(2026, 2, 28, 23), Date.UTC(2026, 2, 29, 23)).map((slot) =>
      new Date(slot).toISOString().slice(11, 23),
    );
  expect(iso('30 2 * * *')).toEqual(['01:00:00.000']);
  expect(iso('15,45 2 * * *')).toEqual(['01:00:00.000', '01:30:00.000']);
  // One moment is one slot's, so two that would come in one come one after the other.
  expect(iso('0 2,3 * * *')).toEqual(['01:00:00.000', '01:00:00.001']);
});

it.each(['0 0 29 2 *', '0 0 1 1 1'])("a rare pattern ('%s') is found over many changes", (cron) => {
  const rare = { cron, timeZone: 'Europe/Berlin' };
  const first = nextSlot(rare, Date.UTC(2026, 0, 2))!;
  expect(wallClock('Europe/Berlin')(first) % (24 * 60)).toBe(0);
  expect(nextSlot(rare, first - 1)).toBe(first);
  expect(nextSlot(rare, first)).toBeGreaterThan(first);
});
