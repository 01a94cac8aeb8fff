/** Owns durations as people write them: a whole number and a unit. Pure. */

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Largest number before the unit. */
export const DURATION_MAX_COUNT = 999_999;

/** `90s`, `15m`, `36h`, `7d`, in milliseconds; undefined where the text is none. */
export function parseDuration(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(digits) * UNIT_MS[unit]!;
}
