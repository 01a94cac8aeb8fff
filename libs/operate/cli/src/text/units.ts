/** Owns how quantities read: durations, times, sizes, counts, costs. Pure; the zone is the reader's own. */
import type { SpendJson } from '@tidemark/core';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `3 ms`, `1.2 s`, `42 s`, `5 min 3 s`, `3 h 12 min`, `4 d 3 h`. */
export function duration(ms: number): string {
  const value = Math.max(0, ms);
  if (value < SECOND) return `${Math.round(value)} ms`;
  if (value < 10 * SECOND) return `${(Math.floor(value / 100) / 10).toFixed(1)} s`;
  if (value < MINUTE) return `${Math.floor(value / SECOND)} s`;
  if (value < HOUR) return two(value, MINUTE, 'min', SECOND, 's');
  if (value < DAY) return two(value, HOUR, 'h', MINUTE, 'min');
  return two(value, DAY, 'd', HOUR, 'h');
}

function two(value: number, great: number, greatUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((value % great) / small);
  return `${Math.floor(value / great)} ${greatUnit}${rest === 0 ? '' : ` ${rest} ${smallUnit}`}`;
}

/** `now`, `42 s ago`, `3 d ago`: one unit is enough for what is past. */
export function ago(atMs: number, nowMs: number): string {
  const passed = nowMs - atMs;
  if (passed < SECOND) return 'now';
  if (passed < MINUTE) return `${Math.floor(passed / SECOND)} s ago`;
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < 2 * DAY) return `${Math.floor(passed / HOUR)} h ago`;
  return `${Math.floor(passed / DAY)} d ago`;
}

/** `in 3 s`, or `due` once the time has come. */
export const until = (atMs: number, nowMs: number): string => (atMs <= nowMs ? 'due' : `in ${duration(atMs - nowMs)}`);

const pad = (value: number): string => String(value).padStart(2, '0');

/** `14:03:11` where the reader is. */
export function clockTime(atMs: number): string {
  const at = new Date(atMs);
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/** `2026-03-01 14:03:11` where the reader is. */
export function dateTime(atMs: number): string {
  const at = new Date(atMs);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${clockTime(atMs)}`;
}

/** `2026-03-01 14:03:11 +01:00`: where another zone stands beside it, a time says its own. */
export function zonedTime(atMs: number): string {
  const minutes = -new Date(atMs).getTimezoneOffset();
  const zone = `${minutes < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`;
  return `${dateTime(atMs)} ${zone}`;
}

/** Longest time for which an instant says only its time of day, in milliseconds. */
const TODAY_MS = DAY;

/** The text with its instants as the reader's clock shows them, and how far from now they are. */
export const localTimes = (text: string, nowMs: number): string =>
  text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (instant) => {
    const atMs = Date.parse(instant);
    const said = Math.abs(atMs - nowMs) > TODAY_MS ? dateTime(atMs) : clockTime(atMs);
    return `${said} (${atMs > nowMs ? until(atMs, nowMs) : ago(atMs, nowMs)})`;
  });

let grouped: Intl.NumberFormat | undefined;
/** `1,234`. */
export function count(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1_000) return String(value);
  // Created on first use: that takes 20 ms.
  grouped ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
  return grouped.format(value);
}

/** `1 task`, `1,234 tasks`. */
export const counted = (value: number, noun: string, plural = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : plural}`;

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Decimal units: `512 B`, `1.2 MB`. */
export function bytes(value: number): string {
  let size = Math.max(0, value);
  let unit = 0;
  while (size >= 999.5 && unit < SIZES.length - 1) {
    size /= 1_000;
    unit++;
  }
  return `${unit === 0 || size >= 99.5 ? Math.round(size) : size.toFixed(1)} ${SIZES[unit]}`;
}

/** From millionths of a US dollar: `$0.0012`, `$3.20`. */
export function cost(micros: number): string {
  const dollars = micros / 1_000_000;
  if (dollars !== 0 && dollars < 0.0001) return '<$0.0001';
  return `$${dollars.toFixed(dollars !== 0 && dollars < 1 ? 4 : 2)}`;
}

/** `1,234 tokens (all estimated)`. */
export function tokenWords({ tokens, estimated_tokens: estimated = 0 }: SpendJson): string {
  const which = estimated >= tokens ? 'all' : count(estimated);
  return `${counted(tokens, 'token')}${estimated === 0 ? '' : ` (${which} estimated)`}`;
}

/** `$0.12`, `no price`, `$0.12 and 300 tokens without a price`. */
export function costWords({ cost_micros: micros, unpriced_tokens: unpriced = 0 }: SpendJson): string {
  if (micros === null) return 'no price';
  return `${cost(micros)}${unpriced === 0 ? '' : ` and ${counted(unpriced, 'token')} without a price`}`;
}

/** For a column: `~1,234` where some of it is estimated; `no price`, `$0.12+` where some of it has none. */
export const tokenCell = ({ tokens, estimated_tokens: estimated }: SpendJson): string =>
  tokens === 0 ? '' : `${estimated === undefined ? '' : '~'}${count(tokens)}`;
export function costCell({ cost_micros: micros, unpriced_tokens: unpriced }: SpendJson): string {
  if (micros === null) return 'no price';
  return micros === 0 && unpriced === undefined ? '' : `${cost(micros)}${unpriced === undefined ? '' : '+'}`;
}

/** What may have been spent besides; nothing for most. */
export function unknownWords({ unknown }: SpendJson): readonly string[] {
  if (unknown === undefined) return [];
  const { calls, tokens, cost_micros: micros } = unknown;
  const most = [counted(tokens, 'token'), ...(micros === 0 ? [] : [cost(micros)])].join(', ');
  return [`up to ${most} more in ${counted(calls, 'call')} without an answer`];
}

/** What a line of figures says of it: nothing that is 0. */
export const spentWords = (spent: SpendJson): readonly string[] => [
  ...(spent.tokens === 0 ? [] : [tokenWords(spent)]),
  ...(spent.cost_micros === 0 && spent.unpriced_tokens === undefined ? [] : [costWords(spent)]),
  ...unknownWords(spent),
];
