/** Owns times and durations as people write them. Pure. */

/** `2026-03-01T14:03:11.000Z`, of milliseconds since 1970. */
export const isoTime = (atMs: number): string => new Date(atMs).toISOString();

/** `2026-03-01`: its day in UTC. */
export const isoDay = (atMs: number): string => isoTime(atMs).slice(0, 10);

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?$/;

/** Milliseconds since 1970 of a moment as programs write it to files; without a zone it is in local time. NaN: it is none. */
export const parseTime = (text: string): number =>
  DATE_TIME.test(text) ? Date.parse(text.replace(',', '.')) : Number.NaN;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Largest number before the unit. */
export const DURATION_MAX_COUNT = 999_999;

/** `90s`, `15m`, `36h`, `7d`, in milliseconds; undefined where the text is none. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(digits) * UNIT_MS[unit]!;
}
