/** Owns how numbers, times and names read. Pure. */
import type { SpendJson } from '@tidemark/core';

const counts = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const count = (value: number): string => counts.format(value);

/** `12.4K`; small numbers as they are. */
export const short = (value: number): string =>
  Math.abs(value) < 10_000 ? counts.format(value) : compact.format(value);

export function money(micros: number): string {
  if (micros === 0) return '$0';
  const usd = micros / 1_000_000;
  if (usd >= 100) return `$${usd.toFixed(0)}`;
  return `$${usd.toFixed(usd >= 1 ? 2 : usd >= 0.01 ? 3 : 5).replace(/(\.\d\d\d{0,3}?)0{1,3}$/, '$1')}`;
}

/** `~` before tokens of which some are estimated; `+` after money that has nothing of some tokens, which have no price. */
export const tokensOf = ({ tokens, estimated_tokens: estimated }: SpendJson): string =>
  `${estimated === undefined ? '' : '~'}${short(tokens)}`;
export const moneyOf = ({ cost_micros: micros, unpriced_tokens: unpriced }: SpendJson): string =>
  micros === null ? 'no price' : `${money(micros)}${unpriced === undefined ? '' : '+'}`;
/** Where nothing was spent, nothing is shown. */
export const isFree = ({ cost_micros: micros, unpriced_tokens: unpriced }: SpendJson): boolean =>
  micros === 0 && unpriced === undefined;
/** What calls without an answer may have cost; undefined for most. */
export const unknownOf = ({ unknown }: SpendJson): string | undefined =>
  unknown && `up to ${short(unknown.tokens)} tokens, ${money(unknown.cost_micros)} (${count(unknown.calls)} calls)`;

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** At most two units: `3h 12m`, `4.2s`, `18ms`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const size = Math.max(0, ms);
  if (size < 1) return '<1ms';
  if (size < 1_000) return `${Math.round(size)}ms`;
  if (size < 10_000) return `${(Math.floor(size / 100) / 10).toFixed(1)}s`;
  if (size < 60_000) return `${Math.floor(size / 1_000)}s`;
  const at = UNITS.findIndex(([, unit]) => size >= unit);
  const [name, unit] = UNITS[at]!;
  const [lesser, lesserUnit] = UNITS[at + 1]!;
  const rest = Math.floor((size % unit) / lesserUnit);
  return `${Math.floor(size / unit)}${name}${rest === 0 ? '' : ` ${rest}${lesser}`}`;
}

export function ago(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  if (Math.abs(ms) < 1_000) return 'now';
  return ms < 0 ? `in ${duration(-ms)}` : `${duration(ms).split(' ')[0]} ago`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `14:03:07`, and the day before it where that is another one than the day of `nowMs`. */
export function moment(atMs: number, nowMs: number): string {
  const date = new Date(atMs);
  const time = clock.format(date);
  return date.toDateString() === new Date(nowMs).toDateString() ? time : `${day.format(date)} ${time}`;
}

/** `Mon 24 Nov 2026, 02:00` in a time zone; unchanged where this browser doesn't know the zone. */
export function momentIn(at: string, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
      timeZone,
    }).format(new Date(at));
  } catch {
    return at;
  }
}

export const bytes = (size: number): string => {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  const at = size < 1 ? 0 : Math.min(Math.floor(Math.log10(size) / 3), units.length - 1);
  const value = size / 1_000 ** at;
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
};

export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** Shows characters that reorder their surroundings, or are invisible, as harmless marks. */
export const plain = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\u2423');

/** The last part of a holder's id, which distinguishes workers for people. */
export function holderName(holder: string): string {
  const last = holder.split(/[:/]/).at(-1) ?? holder;
  return last.length <= 14 ? last : `…${last.slice(-8)}`;
}

/** `budget_exceeded` and `holder-dead` in words. */
export const words = (code: string): string => code.replaceAll(/[-_]+/g, ' ');
