/**
 * Owns what a schedule is and when its slots are: cron patterns in a time zone. `croner` computes what a pattern matches on a clock that
 * never changes; this file places that on one that does. (croner's own slots in a time zone are lost and doubled: summer-time.test.ts.)
 *
 * S1 What the clock skips comes right after it, each slot once; of what it shows twice, the first counts.
 * S2 A pattern that matches in every hour goes by the time that passes, so it comes in both of two hours that are called the same.
 */

import { InvalidError, type Json } from '@tidemark/core';
import { Cron } from 'croner';
import { OVERLAPS, type Overlap } from '../kernel/index.ts';
import { CATCH_UP_MAX_COUNT, CRON_MAX_CHARS } from './limits.ts';
import { type ClockChange, isTimeZone, nextChange, offsetAt } from './wall-clock.ts';

/** Missed slots that are counted one by one; beyond them the count is a lower bound. */
const SCHEDULE_SCAN_MAX_COUNT = 2_000;
/** How far a clock is put forward or back at most: a whole day, where a zone changed its side of the date line. */
const CLOCK_CHANGE_MAX_MS = 26 * 3_600_000;

export interface ScheduleSpec {
  /** Five fields (minute, hour, day, month, weekday), or six with seconds first. */
  readonly cron: string;
  /** IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Input of each run. */
  readonly input: Json;
  readonly overlap: Overlap;
  /** How many missed slots (no worker was there in time) to make up for, newest first. */
  readonly catchUp: number;
  /** Field of the input that receives the slot's time (ISO 8601, UTC); null: none. */
  readonly slotField: string | null;
  /** User of the runs; null: none. */
  readonly user: string | null;
}

/** Throws `InvalidError` (`schedule-invalid`), which names the field. */
export function checkedSpec(value: unknown): ScheduleSpec {
  const given = typeof value === 'object' && value !== null ? (value as Partial<ScheduleSpec>) : {};
  const { cron, timeZone = 'UTC', input = {}, overlap = 'skip', catchUp = 1, slotField = null, user = null } = given;
  const spec: ScheduleSpec = { cron: cronOf(cron), timeZone, input, overlap, catchUp, slotField, user };
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone)) {
    refuse(
      'timeZone',
      `'${String(timeZone).slice(0, 60)}' is not a time zone; give an IANA name, such as 'Europe/Berlin' or 'UTC'`,
    );
  }
  if (!OVERLAPS.includes(overlap)) refuse('overlap', `give one of ${OVERLAPS.join(', ')}`);
  if (!Number.isSafeInteger(catchUp) || catchUp < 0 || catchUp > CATCH_UP_MAX_COUNT) {
    refuse('catchUp', `give a whole number from 0 to ${CATCH_UP_MAX_COUNT}`);
  }
  if (slotField !== null) {
    if (typeof slotField !== 'string' || slotField === '' || slotField === '__proto__')
      refuse('slotField', 'give the name of a field of the input');
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      refuse('slotField', 'the input must be an object to have fields');
    }
  }
  if (nextSlot(spec, 0) === null) refuse('cron', `'${spec.cron}' never matches a time`);
  return spec;
}

/** The input of a slot's run. */
export function inputAt({ input, slotField }: Pick<ScheduleSpec, 'input' | 'slotField'>, slotMs: number): Json {
  if (slotField === null) return input;
  return { ...(input as { readonly [field: string]: Json }), [slotField]: new Date(slotMs).toISOString() };
}

function cronOf(cron: unknown): string {
  if (typeof cron !== 'string' || cron.length > CRON_MAX_CHARS) {
    refuse('cron', `give a text of at most ${CRON_MAX_CHARS} characters, such as '0 9 * * 1-5'`);
  }
  // croner puts the time of its own start there, so each process would have slots of its own.
  if ((cron as string).includes('?')) refuse('cron', `'${cron}' has a '?'; write '*'`);
  try {
    pattern(cron as string);
  } catch (error) {
    const partCount = (cron as string).trim().split(/\s+/).length;
    const isMiscounted = partCount < 5 || partCount > 6;
    const why = isMiscounted
      ? 'five or six parts are needed'
      : (error as Error).message.replace(/^\w+: |(?<!\.)\.+$/g, '');
    refuse('cron', `'${cron}' is not a cron pattern: ${why}`);
  }
  return cron as string;
}

/** What the pattern matches on a clock that never changes. Used to compute times only; it never runs anything. */
const pattern = (cron: string): Cron => new Cron(cron, { utcOffset: 0, paused: true, mode: '5-or-6-parts' });

const HOUR_MS = 3_600_000;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** The slots of a pattern in a time zone. Moments are in milliseconds since the Unix epoch, `wall` is what the clock shows. */
class Slots {
  readonly #times: Cron;
  readonly #timeZone: string;
  #isHourly: boolean | undefined;

  constructor({ cron, timeZone }: Pick<ScheduleSpec, 'cron' | 'timeZone'>) {
    this.#times = pattern(cron);
    this.#timeZone = timeZone;
  }

  /** The first slot after the moment; null: there are no more. */
  next(afterMs: number): number | null {
    const zone = this.#timeZone;
    let change = nextChange(zone, afterMs - CLOCK_CHANGE_MAX_MS, afterMs);
    let offsetMs = offsetAt(zone, afterMs);
    for (let from = afterMs; ; ) {
      const slot = this.#nextUntilChange(change, offsetMs, from);
      const later = slot === null ? undefined : nextChange(zone, Math.max(from, change?.atMs ?? from), slot);
      if (later === undefined) return slot;
      change = later;
      offsetMs = later.afterMs;
      from = later.atMs - 1;
    }
  }

  /** The newest slots up to the moment, oldest first. */
  newestUntil(untilMs: number, count: number): number[] {
    const [zone, wall] = [this.#timeZone, untilMs + offsetAt(this.#timeZone, untilMs)];
    const oldest =
      this.#times
        .previousRuns(count, new Date(wall + 1))
        .at(-1)
        ?.getTime() ?? wall;
    const slots: number[] = [];
    const from = oldest - Math.max(offsetAt(zone, oldest), wall - untilMs) - 1;
    for (let at = this.next(from); at !== null && at <= untilMs; at = this.next(at)) slots.push(at);
    return slots.slice(-count);
  }

  /** The first slot after the moment, as if the clock, which shows this offset since `change`, were never changed again. */
  #nextUntilChange(change: ClockChange | undefined, offsetMs: number, afterMs: number): number | null {
    let wall = afterMs + offsetMs;
    if (change !== undefined && change.beforeMs > offsetMs && !this.#comesEveryHour()) {
      // It shows again what it has shown.
      wall = Math.max(wall, change.atMs + change.beforeMs - 1);
    }
    const next = this.#match(wall);
    const regular = next === null ? null : next - offsetMs;
    const skipped = change === undefined ? null : this.#nextSkipped(change, afterMs);
    return regular === null || skipped === null ? (regular ?? skipped) : Math.min(regular, skipped);
  }

  /**
   * The first slot after the moment that stands for what the clock skipped. They keep their distances. In a pattern of every hour they come
   * as much later as the clock was put forward, and what comes then anyway stands for both.
   */
  #nextSkipped({ atMs, beforeMs, afterMs: offsetMs }: ClockChange, afterMs: number): number | null {
    const [from, until] = [atMs + beforeMs, atMs + offsetMs];
    const first = this.#match(from - 1);
    if (first === null || first >= until) return null;
    const isHourly = this.#comesEveryHour();
    const base = isHourly ? from : first;
    // One moment is the time of one slot, so the second of two comes a millisecond later.
    const isRegular = (slot: number): boolean => this.#match(slot + offsetMs - 1) === slot + offsetMs;
    const slotOf = (wall: number): number => {
      const slot = atMs + wall - base;
      return !isHourly && isRegular(slot) ? slot + 1 : slot;
    };
    for (let wall = this.#match(base + Math.max(afterMs - atMs, 0) - 2); wall !== null && wall < until; ) {
      const slot = slotOf(wall);
      if (slot > afterMs) return slot;
      wall = this.#match(wall);
    }
    return null;
  }

  #match(afterWall: number): number | null {
    return this.#times.nextRun(new Date(afterWall))?.getTime() ?? null;
  }

  /** Whether each hour of its days has a slot. */
  #comesEveryHour(): boolean {
    this.#isHourly ??= this.#checkEveryHour();
    return this.#isHourly;
  }

  #checkEveryHour(): boolean {
    const first = this.#match(0) ?? 0;
    const day = first - (first % (24 * HOUR_MS));
    return HOURS.every((hour) => (this.#match(day + hour * HOUR_MS - 1) ?? Infinity) < day + (hour + 1) * HOUR_MS);
  }
}

/** The first slot after the moment, in milliseconds since the Unix epoch; null: there are no more. */
export const nextSlot = (spec: Pick<ScheduleSpec, 'cron' | 'timeZone'>, afterMs: number): number | null =>
  new Slots(spec).next(afterMs);

/** The slots in `(afterMs, untilMs]` that are to start, oldest first, and the number of earlier ones that are missed for good. */
export function dueSlots(
  spec: Pick<ScheduleSpec, 'cron' | 'timeZone' | 'catchUp'>,
  { afterMs, untilMs, graceMs }: { readonly afterMs: number; readonly untilMs: number; readonly graceMs: number },
): { readonly slots: readonly number[]; readonly missedCount: number } {
  const all: number[] = [];
  const times = new Slots(spec);
  for (let at = times.next(afterMs); at !== null && at <= untilMs; at = times.next(at)) {
    all.push(at);
    if (all.length >= SCHEDULE_SCAN_MAX_COUNT) {
      // Far behind: the newest slots are found from the end, and the count of the others is a lower bound.
      all.splice(0, all.length, ...times.newestUntil(untilMs, spec.catchUp + 1).filter((slot) => slot > afterMs));
      return split(all, spec.catchUp, untilMs - graceMs, SCHEDULE_SCAN_MAX_COUNT - all.length);
    }
  }
  return split(all, spec.catchUp, untilMs - graceMs, 0);
}

/** Slots since `missedBeforeMs` are in time; of the earlier ones, the newest `catchUp` are made up for. */
function split(all: readonly number[], catchUp: number, missedBeforeMs: number, beforeCount: number) {
  const inTime = all.filter((slot) => slot >= missedBeforeMs);
  const late = all.slice(0, all.length - inTime.length);
  const madeUp = catchUp === 0 ? [] : late.slice(-catchUp);
  return { slots: [...madeUp, ...inTime], missedCount: beforeCount + late.length - madeUp.length };
}

function refuse(field: string, what: string): never {
  throw new InvalidError('schedule-invalid', `${field}: ${what}.`, { field });
}
