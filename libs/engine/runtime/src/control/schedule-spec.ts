/**
 * Owns what a schedule is and when its slots are: cron patterns in a time zone, across changes of summer time. A slot in a skipped hour
 * comes right after it; a slot in a repeated hour comes once. Pure except for the platform's time zone data.
 */

import { InvalidError, type Json } from '@tidemark/core';
import { Cron } from 'croner';
import { OVERLAPS, type Overlap } from '../kernel/index.ts';
import { CATCH_UP_MAX_COUNT, CRON_MAX_CHARS, SCHEDULE_SCAN_MAX_COUNT } from './limits.ts';

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
  try {
    pattern(cron as string, 'UTC');
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

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Used to compute times only; it never runs anything. */
const pattern = (cron: string, timeZone: string): Cron =>
  new Cron(cron, { timezone: timeZone, paused: true, mode: '5-or-6-parts' });

/** The first slot after the moment, in milliseconds since the Unix epoch; null: there are no more. */
export const nextSlot = ({ cron, timeZone }: Pick<ScheduleSpec, 'cron' | 'timeZone'>, afterMs: number): number | null =>
  pattern(cron, timeZone).nextRun(new Date(afterMs))?.getTime() ?? null;

/** The slots in `(afterMs, untilMs]` that are to start, oldest first, and the number of earlier ones that are missed for good. */
export function dueSlots(
  spec: Pick<ScheduleSpec, 'cron' | 'timeZone' | 'catchUp'>,
  { afterMs, untilMs, graceMs }: { readonly afterMs: number; readonly untilMs: number; readonly graceMs: number },
): { readonly slots: readonly number[]; readonly missedCount: number } {
  const all: number[] = [];
  const times = pattern(spec.cron, spec.timeZone);
  for (let at = times.nextRun(new Date(afterMs)); at !== null && at.getTime() <= untilMs; at = times.nextRun(at)) {
    all.push(at.getTime());
    if (all.length >= SCHEDULE_SCAN_MAX_COUNT) {
      // Far behind: the newest slots are found from the end, and the count of the others is a lower bound.
      all.splice(0, all.length, ...newestUntil(times, untilMs, spec.catchUp + 1).filter((slot) => slot > afterMs));
      return split(all, spec.catchUp, untilMs - graceMs, SCHEDULE_SCAN_MAX_COUNT - all.length);
    }
  }
  return split(all, spec.catchUp, untilMs - graceMs, 0);
}

const newestUntil = (times: Cron, untilMs: number, count: number): number[] =>
  times
    .previousRuns(count, new Date(untilMs + 1))
    .map((date) => date.getTime())
    .sort((a, b) => a - b);

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
