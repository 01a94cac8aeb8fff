/** Owns times and durations as people write them, and ids that begin with a time. Pure. */

/** Formats milliseconds since 1970: `2026-03-01T14:03:11.000Z`. */
export const isoTime = (atMs: number): string => new Date(atMs).toISOString();

/** The day in UTC: `2026-03-01`. */
export const isoDay = (atMs: number): string => isoTime(atMs).slice(0, 10);

/** The day where the process is (its environment's `TZ`), such as `2026-03-01`. */
export function localDay(atMs: number): string {
  return isoDay(atMs - new Date(atMs).getTimezoneOffset() * UNIT_MS.m!);
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?$/;

/** Parses a time as programs write it to files, into milliseconds since 1970. Without a zone it is local time. NaN: it can't be parsed. */
export const parseTime = (text: string): number =>
  DATE_TIME.test(text) ? Date.parse(text.replace(',', '.')) : Number.NaN;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Largest number before the unit. */
export const DURATION_MAX_COUNT = 999_999;

/** Parses `90s`, `15m`, `36h` or `7d` into milliseconds; undefined when the text is no duration. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(digits) * UNIT_MS[unit]!;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A UUIDv7 (RFC 9562, section 5.7). For people; never for order. `atMs`: milliseconds since the Unix epoch; `random`: at least 10 bytes, of
 * which 74 bits are used.
 */
export function uuidv7(atMs: number, random: Uint8Array): string {
  const time = Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0');
  const hex = (at: number): string => HEX[random[at]!]!;
  const versioned = HEX[0x70 | (random[0]! & 0x0f)]! + hex(1);
  const variant = HEX[0x80 | (random[2]! & 0x3f)]! + hex(3);
  const node = hex(4) + hex(5) + hex(6) + hex(7) + hex(8) + hex(9);
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-${versioned}-${variant}-${node}`;
}
