/**
 * Owns what a clock on the wall of a time zone shows, and when it is put forward or back. Wall time is a number of milliseconds, as if the
 * clock's date and time were UTC's. Pure except for the platform's time zone data.
 */

/** Time zones whose formats a process keeps. */
const CLOCK_FORMATS_MAX_COUNT = 1_000;
/** A clock that is put forward and back again within less than a week shows no change here; no zone has done that for decades. */
const CLOCK_CHANGE_STEP_MS = 7 * 86_400_000;

/** A clock that is put forward shows nothing between `atMs + beforeMs` and `atMs + afterMs`; one that is put back shows that time twice. */
export interface ClockChange {
  /** The first moment of the new offset. */
  readonly atMs: number;
  /** Wall time minus UTC, before and after. */
  readonly beforeMs: number;
  readonly afterMs: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Throws `RangeError` for a time zone that the platform doesn't know. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  if (formats.size >= CLOCK_FORMATS_MAX_COUNT) formats.clear();
  formats.set(timeZone, format);
  return format;
}

export function isTimeZone(name: string): boolean {
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Wall time minus UTC, in milliseconds. */
export function offsetAt(timeZone: string, atMs: number): number {
  const [, sign, hours, minutes, seconds = 0] =
    /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(formatOf(timeZone).format(atMs)) ?? [];
  const size = ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds)) * 1_000;
  return sign === '-' ? -size : size;
}

/** The day that the clock shows, such as `2026-03-29`. */
export const dayAt = (timeZone: string, atMs: number): string =>
  new Date(atMs + offsetAt(timeZone, atMs)).toISOString().slice(0, 10);

/** The first change in `(afterMs, untilMs]`. */
export function nextChange(timeZone: string, afterMs: number, untilMs: number): ClockChange | undefined {
  const beforeMs = offsetAt(timeZone, afterMs);
  for (let from = afterMs; from < untilMs; from += CLOCK_CHANGE_STEP_MS) {
    const to = Math.min(from + CLOCK_CHANGE_STEP_MS, untilMs);
    if (offsetAt(timeZone, to) === beforeMs) continue;
    let [low, high] = [from, to];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offsetAt(timeZone, middle) === beforeMs) low = middle;
      else high = middle;
    }
    return { atMs: high, beforeMs, afterMs: offsetAt(timeZone, high) };
  }
  return undefined;
}
